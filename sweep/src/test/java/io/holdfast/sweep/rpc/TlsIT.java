package io.holdfast.sweep.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import io.holdfast.HoldfastException;
import io.holdfast.Time;
import io.holdfast.sweep.proto.PingRequest;
import io.holdfast.sweep.proto.SweepWorkerGrpc;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.worker.SweepWorker;
import io.holdfast.testkit.Certificates;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who is let in at a port with mutual TLS: the roles of the port, and nobody else. */
class TlsIT {

    @TempDir
    static Path folder;

    private static Certificates certificates;

    @BeforeAll
    static void make() throws Exception {
        certificates = Certificates.make(folder, "manager", "worker", "stranger");
    }

    private static Optional<TlsFiles> of(String role) {
        return Optional.of(
                new TlsFiles(certificates.certificate(role), certificates.key(role), certificates.authorities()));
    }

    @Test
    void aPortLetsItsRolesInAndNobodyElse() {
        SweepWorker worker =
                new SweepWorker(7, 1 << 20, KeyRing.of(List.of()), (address, manifest, filter) -> {}, Time.system());
        try (RpcServer server = RpcServer.start(
                "127.0.0.1:0", new WorkerService(worker), of("worker"), Set.of(RpcServer.Role.MANAGER))) {
            try (Peers manager = new Peers(of("manager"))) {
                assertThat(manager.worker(server.address()).ping().incarnation())
                        .isEqualTo(7);
            }
            refused(of("worker"), server, "the certificate is of worker");
            refused(of("stranger"), server, "the certificate is of nobody known");
        }
    }

    @Test
    void aCallerWithoutACertificateIsRefused() throws Exception {
        SweepWorker worker =
                new SweepWorker(7, 1 << 20, KeyRing.of(List.of()), (address, manifest, filter) -> {}, Time.system());
        try (RpcServer server = RpcServer.start(
                "127.0.0.1:0", new WorkerService(worker), of("worker"), Set.of(RpcServer.Role.MANAGER))) {
            SslContext noCertificate = GrpcSslContexts.forClient()
                    .trustManager(certificates.authorities().toFile())
                    .build();
            refused(NettyChannelBuilder.forTarget("dns:///" + server.address()).sslContext(noCertificate));
            refused(NettyChannelBuilder.forTarget("dns:///" + server.address()).usePlaintext());
            try (Peers manager = new Peers(of("manager"))) {
                assertThat(manager.worker(server.address()).ping().incarnation())
                        .isEqualTo(7);
            }
        }
    }

    private static void refused(NettyChannelBuilder caller) {
        ManagedChannel channel = caller.build();
        try {
            assertThatThrownBy(() -> SweepWorkerGrpc.newBlockingStub(channel)
                            .withDeadlineAfter(10, TimeUnit.SECONDS)
                            .ping(PingRequest.getDefaultInstance()))
                    .isInstanceOfSatisfying(
                            StatusRuntimeException.class,
                            e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE));
        } finally {
            channel.shutdownNow();
        }
    }

    private static void refused(Optional<TlsFiles> as, RpcServer server, String why) {
        try (Peers peers = new Peers(as)) {
            assertThatThrownBy(() -> peers.worker(server.address()).ping())
                    .isInstanceOf(HoldfastException.class)
                    .hasMessageContaining(why);
        }
    }
}
