package io.holdfast.sweep.rpc;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.manager.WorkerPort;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.proto.DeliverRequest;
import io.holdfast.sweep.proto.DeliverResponse;
import io.holdfast.sweep.proto.EndSessionRequest;
import io.holdfast.sweep.proto.FrameReply;
import io.holdfast.sweep.proto.PingRequest;
import io.holdfast.sweep.proto.PingResponse;
import io.holdfast.sweep.proto.SweepWorkerGrpc;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.Manifest;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.retain.WorkerProof;
import io.holdfast.sweep.transfer.Frame;
import io.holdfast.sweep.transfer.NodeBuilt;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.SessionStart;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** A worker in another process. */
public final class RemoteWorker implements WorkerPort {

    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int CALL_SECONDS = 10;
    /** The end of a session computes the digests of all filters. */
    private static final int END_SECONDS = 600;

    private final String address;
    private final String host;
    private final ManagedChannel channel;
    private final Optional<KeyRing> ring;

    RemoteWorker(String address, String host, ManagedChannel channel, Optional<KeyRing> ring) {
        this.address = address;
        this.host = host;
        this.channel = channel;
        this.ring = ring;
    }

    @Override
    public String address() {
        return address;
    }

    @Override
    public String host() {
        return host;
    }

    private <T> T call(int seconds, Function<SweepWorkerGrpc.SweepWorkerBlockingStub, T> call) {
        try {
            return call.apply(SweepWorkerGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(seconds, TimeUnit.SECONDS)
                    .withMaxInboundMessageSize(Wire.MESSAGE_MAX));
        } catch (StatusRuntimeException e) {
            throw Failures.decode("worker " + address, e);
        }
    }

    @Override
    public Pong ping() {
        byte[] nonce = new byte[WorkerProof.NONCE_BYTES];
        RANDOM.nextBytes(nonce);
        PeerSubject subject = new PeerSubject();
        PingRequest request =
                PingRequest.newBuilder().setNonce(ByteString.copyFrom(nonce)).build();
        PingResponse pong =
                call(CALL_SECONDS, stub -> stub.withInterceptors(subject).ping(request));
        String identity = subject.name().orElseGet(() -> byKey(pong, nonce));
        return new Pong(pong.getIncarnation(), pong.getFilterMemory(), pong.getFilterMemoryUsed(), identity);
    }

    /** A proof that is there must be right; none at all is no identity. */
    private String byKey(PingResponse pong, byte[] nonce) {
        if (ring.isEmpty() || !pong.hasProof()) {
            return "";
        }
        Signed signed = Wire.decode(pong.getProof());
        WorkerProof proof = WorkerProof.decode(signed.text());
        ring.get().verify(signed, proof.keyId(), KeyRing.Role.WORKER, Instant.now());
        if (!proof.fits(nonce, address)) {
            throw HoldfastException.misuse(
                    "worker " + address + " proves that it is at " + proof.address(),
                    "name the worker by the address that it advertises");
        }
        return "key " + proof.keyId();
    }

    @Override
    public void start(SessionStart start) {
        var unused = call(END_SECONDS, stub -> stub.startSession(Wire.encode(start)));
    }

    @Override
    public Link open(SessionKey session, Replies replies) {
        StreamObserver<io.holdfast.sweep.proto.Frame> frames = SweepWorkerGrpc.newStub(channel)
                .addPieces(new StreamObserver<>() {
                    @Override
                    public void onNext(FrameReply reply) {
                        replies.reply(Wire.decode(reply));
                    }

                    @Override
                    public void onError(Throwable failure) {
                        replies.broken(Failures.decode("worker " + address, failure));
                    }

                    @Override
                    public void onCompleted() {
                        replies.broken(
                                new HoldfastException(Category.RETRY, "worker " + address + " ended the stream"));
                    }
                });
        return new Link() {
            @Override
            public void send(Frame frame) {
                try {
                    frames.onNext(Wire.encode(frame));
                } catch (IllegalStateException e) {
                    throw new HoldfastException(Category.RETRY, "the stream to worker " + address + " is closed", e);
                }
            }

            @Override
            public void close() {
                try {
                    frames.onCompleted();
                } catch (IllegalStateException e) {
                    // It is closed already, from the other end.
                }
            }
        };
    }

    @Override
    public List<NodeBuilt> end(SessionKey session, Map<NodeId, Long> endings) {
        EndSessionRequest.Builder request = EndSessionRequest.newBuilder().setSessionId(Wire.encode(session));
        endings.forEach((node, last) -> request.putNodeEndingSequence(node.name(), last));
        return call(END_SECONDS, stub -> stub.endSession(request.build())).getNodesList().stream()
                .map(Wire::decode)
                .toList();
    }

    /**
     * The worker sends the filter on, perhaps at 1 MiB a second; a filter takes at most 4 bytes a row. Longer than the worker
     * waits for the node, so that a node that hangs is not taken for a worker that does.
     */
    private static int deliverSeconds(Signed manifest) {
        long bytes = 4 * Manifest.decode(manifest.text()).rows();
        return (int) Math.min(Integer.MAX_VALUE, END_SECONDS + CALL_SECONDS * 6L + (bytes >> 20));
    }

    @Override
    public Optional<HoldfastException> deliver(SessionKey session, NodeId node, String nodeAddress, Signed manifest) {
        DeliverResponse answer = call(
                deliverSeconds(manifest),
                stub -> stub.deliver(DeliverRequest.newBuilder()
                        .setSessionId(Wire.encode(session))
                        .setNodeId(node.name())
                        .setNodeAddress(nodeAddress)
                        .setManifest(Wire.encode(manifest))
                        .build()));
        if (answer.getCategory().isEmpty()) {
            return Optional.empty();
        }
        Category category;
        try {
            category = Category.valueOf(answer.getCategory());
        } catch (IllegalArgumentException e) {
            category = Category.MISUSE;
        }
        return Optional.of(
                new HoldfastException(category, Wire.words(answer.getProblem()), Wire.words(answer.getAction()), null));
    }

    @Override
    public void drop(SessionKey session) {
        var unused = call(CALL_SECONDS, stub -> stub.dropSession(Wire.encode(session)));
    }
}
