package io.holdfast.sweep.rpc;

import com.google.protobuf.ByteString;
import io.grpc.stub.StreamObserver;
import io.holdfast.HoldfastException;
import io.holdfast.sweep.node.Incoming;
import io.holdfast.sweep.node.NodeAgent;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.node.NodeStatus;
import io.holdfast.sweep.node.Suspect;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.proto.AlarmLine;
import io.holdfast.sweep.proto.CarryResponse;
import io.holdfast.sweep.proto.Done;
import io.holdfast.sweep.proto.ProgressRequest;
import io.holdfast.sweep.proto.ProgressResponse;
import io.holdfast.sweep.proto.RetainChunk;
import io.holdfast.sweep.proto.SignedText;
import io.holdfast.sweep.proto.SweepNodeGrpc;
import io.holdfast.sweep.retain.Signed;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A storage node's port for cycles. */
public final class NodeService extends SweepNodeGrpc.SweepNodeImplBase {

    private final NodeAgent agent;

    public NodeService(NodeAgent agent) {
        this.agent = agent;
    }

    @Override
    public StreamObserver<RetainChunk> retain(StreamObserver<Done> to) {
        return new Receiver(to);
    }

    /** Takes a manifest, checks its signature before anything else is taken, then the filter. */
    private final class Receiver implements StreamObserver<RetainChunk> {
        private final StreamObserver<Done> to;
        private @Nullable Signed manifest;
        private @Nullable Incoming incoming;
        private boolean ended;

        Receiver(StreamObserver<Done> to) {
            this.to = to;
        }

        @Override
        public void onNext(RetainChunk chunk) {
            if (ended) {
                return;
            }
            try {
                if (incoming == null) {
                    Signed signed = Wire.decode(chunk.getManifest());
                    manifest = signed;
                    incoming = agent.incoming(signed);
                }
                for (ByteBuffer part : chunk.getFilter().asReadOnlyByteBufferList()) {
                    incoming.add(part);
                }
            } catch (IOException | RuntimeException e) {
                end();
                to.onError(Failures.encode(e));
            }
        }

        @Override
        public void onError(Throwable failure) {
            end();
        }

        @Override
        public void onCompleted() {
            if (ended) {
                return;
            }
            Failures.answer(to, () -> {
                Signed signed = manifest;
                Incoming whole = incoming;
                if (signed == null || whole == null) {
                    throw HoldfastException.misuse("a filter without a manifest", "send the manifest first");
                }
                try (InputStream in = whole.read()) {
                    agent.retain(signed, in);
                }
                return Done.getDefaultInstance();
            });
            end();
        }

        private void end() {
            ended = true;
            Incoming left = incoming;
            if (left != null) {
                try {
                    left.close();
                } catch (IOException e) {
                    // It is a scratch file, and is removed at the next start.
                }
            }
        }
    }

    @Override
    public void progress(ProgressRequest request, StreamObserver<ProgressResponse> to) {
        Failures.answer(to, () -> encode(agent.progress(new OwnerId(request.getOwner()), request.getCycle())));
    }

    @Override
    public void carry(SignedText order, StreamObserver<CarryResponse> to) {
        Failures.answer(to, () -> {
            NodeAgent.Carried carried = agent.carry(Wire.decode(order));
            return CarryResponse.newBuilder()
                    .setCount(carried.count())
                    .setDetail(Wire.words(carried.detail()))
                    .build();
        });
    }

    private static ProgressResponse encode(NodeProgress progress) {
        ProgressResponse.Builder message = ProgressResponse.newBuilder()
                .setNodeId(progress.node().name())
                .setIdBytes(progress.idBytes())
                .setLastCycle(progress.lastCycle())
                .setState(progress.state().name())
                .setExamined(progress.examined())
                .setDigest(progress.digest())
                .setVerdict(progress.verdict())
                .setWouldTrash(progress.wouldTrash())
                .setWouldTrashBytes(progress.wouldTrashBytes())
                .setTrashed(progress.trashed())
                .setTrashedBytes(progress.trashedBytes())
                .setLive(progress.live())
                .setYoung(progress.young())
                .setFailed(progress.failed())
                .setDetail(Wire.words(progress.detail()))
                .setTrashBuilder(progress.trashBuilder());
        List<NodeStatus.Alarm> alarms = progress.alarms();
        for (NodeStatus.Alarm alarm : alarms.subList(0, Math.min(Wire.ALARMS_MAX, alarms.size()))) {
            message.addAlarms(AlarmLine.newBuilder()
                    .setCycle(alarm.cycle())
                    .setPieceId(ByteString.copyFrom(alarm.id().bytes()))
                    .setAtMillis(alarm.at().toEpochMilli()));
        }
        for (Suspect suspect : progress.suspects()) {
            message.addSuspects(AlarmLine.newBuilder()
                    .setCycle(suspect.cycle())
                    .setPieceId(ByteString.copyFrom(suspect.id().bytes())));
        }
        return message.build();
    }
}
