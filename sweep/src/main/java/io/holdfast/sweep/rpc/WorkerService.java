package io.holdfast.sweep.rpc;

import com.google.protobuf.ByteString;
import io.grpc.stub.StreamObserver;
import io.holdfast.HoldfastException;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.proto.AddPieceRequest;
import io.holdfast.sweep.proto.AddPieceResponse;
import io.holdfast.sweep.proto.DeliverRequest;
import io.holdfast.sweep.proto.DeliverResponse;
import io.holdfast.sweep.proto.Done;
import io.holdfast.sweep.proto.EndSessionRequest;
import io.holdfast.sweep.proto.EndSessionResponse;
import io.holdfast.sweep.proto.Frame;
import io.holdfast.sweep.proto.FrameReply;
import io.holdfast.sweep.proto.PingRequest;
import io.holdfast.sweep.proto.PingResponse;
import io.holdfast.sweep.proto.SessionId;
import io.holdfast.sweep.proto.StartSessionRequest;
import io.holdfast.sweep.proto.StartSessionResponse;
import io.holdfast.sweep.proto.SweepWorkerGrpc;
import io.holdfast.sweep.retain.SigningKey;
import io.holdfast.sweep.retain.WorkerProof;
import io.holdfast.sweep.transfer.NodeBuilt;
import io.holdfast.sweep.worker.SweepWorker;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A worker's port. */
public class WorkerService extends SweepWorkerGrpc.SweepWorkerImplBase {

    private final SweepWorker worker;
    private final @Nullable SigningKey key;
    private volatile String address = "";

    public WorkerService(SweepWorker worker) {
        this(worker, null);
    }

    /** @param key of role worker, by which it proves who it is; null if a certificate does that, or nothing */
    public WorkerService(SweepWorker worker, @Nullable SigningKey key) {
        this.worker = worker;
        this.key = key;
    }

    @Override
    public void ping(PingRequest request, StreamObserver<PingResponse> to) {
        Failures.answer(
                to,
                () -> PingResponse.newBuilder()
                        .setIncarnation(worker.incarnation())
                        .setFilterMemory(worker.filterMemory())
                        .setFilterMemoryUsed(worker.filterMemoryUsed())
                        .mergeFrom(proof(request))
                        .build());
    }

    private PingResponse proof(PingRequest request) {
        SigningKey signing = key;
        String mine = address;
        PingResponse.Builder answer = PingResponse.newBuilder();
        if (signing != null && !mine.isEmpty() && request.getNonce().size() == WorkerProof.NONCE_BYTES) {
            WorkerProof proof = new WorkerProof(request.getNonce().toByteArray(), mine, signing.id());
            answer.setProof(Wire.encode(signing.sign(proof.encode())));
        }
        return answer.build();
    }

    /** Where managers reach this worker, which is part of what it signs. */
    public void reachedAt(String advertised) {
        address = Wire.address(advertised);
    }

    @Override
    public void startSession(StartSessionRequest request, StreamObserver<StartSessionResponse> to) {
        Failures.answer(to, () -> {
            worker.start(Wire.decode(request));
            return StartSessionResponse.getDefaultInstance();
        });
    }

    @Override
    public void addPiece(AddPieceRequest request, StreamObserver<AddPieceResponse> to) {
        Failures.answer(to, () -> {
            ByteString piece = request.getPieceId();
            if (piece.size() != Wire.FINGERPRINT_BYTES) {
                throw HoldfastException.misuse(
                        "a fingerprint of " + piece.size() + " bytes", "send " + Wire.FINGERPRINT_BYTES + " bytes");
            }
            ByteBuffer bytes = piece.asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
            worker.session(Wire.decode(request.getSessionId()))
                    .add(
                            new NodeId(request.getNodeId()),
                            request.getSequenceNumber(),
                            bytes.getLong(),
                            bytes.getLong());
            return AddPieceResponse.getDefaultInstance();
        });
    }

    @Override
    public StreamObserver<Frame> addPieces(StreamObserver<FrameReply> to) {
        return new StreamObserver<>() {
            private boolean ended;

            @Override
            public void onNext(Frame message) {
                if (ended) {
                    return;
                }
                try {
                    io.holdfast.sweep.transfer.Frame frame = Wire.decode(message);
                    to.onNext(Wire.encode(worker.session(frame.session()).take(frame)));
                } catch (RuntimeException e) {
                    ended = true;
                    to.onError(Failures.encode(e));
                }
            }

            @Override
            public void onError(Throwable failure) {
                ended = true;
            }

            @Override
            public void onCompleted() {
                if (!ended) {
                    ended = true;
                    to.onCompleted();
                }
            }
        };
    }

    @Override
    public void endSession(EndSessionRequest request, StreamObserver<EndSessionResponse> to) {
        Failures.answer(to, () -> {
            Map<NodeId, Long> endings = new HashMap<>();
            request.getNodeEndingSequenceMap().forEach((node, last) -> endings.put(new NodeId(node), last));
            EndSessionResponse.Builder answer = EndSessionResponse.newBuilder();
            for (NodeBuilt built :
                    worker.session(Wire.decode(request.getSessionId())).end(endings)) {
                answer.addNodes(Wire.encode(built));
            }
            return answer.build();
        });
    }

    @Override
    public void deliver(DeliverRequest request, StreamObserver<DeliverResponse> to) {
        Failures.answer(to, () -> {
            Optional<HoldfastException> refused = worker.deliver(
                    Wire.decode(request.getSessionId()),
                    new NodeId(request.getNodeId()),
                    Wire.address(request.getNodeAddress()),
                    Wire.decode(request.getManifest()));
            return refused.map(why -> DeliverResponse.newBuilder()
                            .setCategory(why.category().name())
                            .setProblem(Wire.words("" + why.getMessage()))
                            .setAction(Wire.words(why.action()))
                            .build())
                    .orElseGet(DeliverResponse::getDefaultInstance);
        });
    }

    @Override
    public void dropSession(SessionId session, StreamObserver<Done> to) {
        Failures.answer(to, () -> {
            worker.drop(Wire.decode(session));
            return Done.getDefaultInstance();
        });
    }
}
