package io.holdfast.sweep.rpc;

import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.proto.RegisterRequest;
import io.holdfast.sweep.proto.StatusRequest;
import io.holdfast.sweep.proto.StatusResponse;
import io.holdfast.sweep.proto.SweepManagerGrpc;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.Signed;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** The other processes that this one talks to: a channel each, opened when it is first needed, closed with this. */
public final class Peers implements AutoCloseable {

    private static final int KEEP_ALIVE_SECONDS = 20;
    private static final int CALL_SECONDS = 10;

    private final Optional<TlsFiles> tls;
    private final Optional<KeyRing> ring;
    private final Map<String, ManagedChannel> channels = new ConcurrentHashMap<>();

    public Peers(Optional<TlsFiles> tls) {
        this(tls, Optional.empty());
    }

    /** @param ring whose keys of role worker prove who a worker is, where there is no TLS */
    public Peers(Optional<TlsFiles> tls, Optional<KeyRing> ring) {
        this.tls = tls;
        this.ring = ring;
    }

    private ManagedChannel channel(String address) {
        return channels.computeIfAbsent(Wire.address(address), this::open);
    }

    private ManagedChannel open(String address) {
        NettyChannelBuilder builder = NettyChannelBuilder.forTarget("dns:///" + address)
                .maxInboundMessageSize(Wire.MESSAGE_MAX)
                .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
                .keepAliveTimeout(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS);
        return tls.isPresent()
                ? builder.sslContext(tls.get().client()).build()
                : builder.usePlaintext().build();
    }

    /** A worker that an operator has named. */
    public RemoteWorker worker(String address) {
        ManagedChannel channel = channel(address);
        return new RemoteWorker(address, address.substring(0, address.lastIndexOf(':')), channel, ring);
    }

    /** A worker that registered by itself, under an address of its own choice. */
    public RemoteWorker registered(String address) {
        return new RemoteWorker(address, "", channel(address), ring);
    }

    public RemoteNode node(NodeId id, String address) {
        return new RemoteNode(id, address, channel(address));
    }

    /** The pieces of a node that serves them. */
    public RemotePieces pieces(NodeId id, String address) {
        return new RemotePieces(id, address, channel(address));
    }

    /** How a worker delivers. */
    public void retain(String address, Signed manifest, LiveFilter filter) {
        new RemoteNode(new NodeId("node"), address, channel(address)).retain(manifest, filter);
    }

    /** Registers a worker with a manager; answers how long that holds. */
    public Duration register(String manager, String worker) {
        try {
            return Duration.ofMillis(SweepManagerGrpc.newBlockingStub(channel(manager))
                    .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
                    .register(RegisterRequest.newBuilder()
                            .setAddress(Wire.address(worker))
                            .build())
                    .getLeaseMillis());
        } catch (io.grpc.StatusRuntimeException e) {
            throw Failures.decode("manager at " + manager, e);
        }
    }

    /** How a manager stands. */
    public io.holdfast.sweep.manager.FleetStatus status(String manager) {
        try {
            StatusResponse answer = SweepManagerGrpc.newBlockingStub(channel(manager))
                    .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
                    .status(StatusRequest.getDefaultInstance());
            return ManagerService.decode(answer);
        } catch (io.grpc.StatusRuntimeException e) {
            throw Failures.decode("manager at " + manager, e);
        }
    }

    @Override
    public void close() {
        channels.values().forEach(ManagedChannel::shutdownNow);
        channels.clear();
    }
}
