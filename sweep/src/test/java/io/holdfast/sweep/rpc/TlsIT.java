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
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.proto.PingRequest;
import io.holdfast.sweep.proto.SweepWorkerGrpc;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.worker.SweepWorker;
import io.holdfast.testkit.Certificates;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
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

    /** Certificates are replaced before they expire, and nobody starts the processes again. */
    @Test
    void replacedFilesAreReadAgain(@TempDir Path place) throws Exception {
        Certificates old = Certificates.make(Files.createDirectory(place.resolve("old")), "manager", "worker");
        Certificates fresh = Certificates.make(Files.createDirectory(place.resolve("new")), "manager", "worker");
        Path here = Files.createDirectory(place.resolve("here"));
        copy(old, here);
        TlsFiles files = new TlsFiles(here.resolve("crt"), here.resolve("key"), here.resolve("all"));
        SweepWorker worker =
                new SweepWorker(7, 1 << 20, KeyRing.of(List.of()), (address, manifest, filter) -> {}, Time.system());
        try (RpcServer server = RpcServer.start(
                "127.0.0.1:0", new WorkerService(worker), Optional.of(files), Set.of(RpcServer.Role.MANAGER))) {
            reached(old, server);
            Files.writeString(here.resolve("key"), "half of a key");
            reached(old, server);
            copy(fresh, here);
            reached(fresh, server);
            try (Peers peers = new Peers(Optional.of(manager(old)))) {
                assertThatThrownBy(() -> peers.worker(server.address()).ping()).isInstanceOf(HoldfastException.class);
            }
        }
    }

    private static void copy(Certificates from, Path to) throws IOException {
        Files.copy(from.certificate("worker"), to.resolve("crt"), StandardCopyOption.REPLACE_EXISTING);
        Files.copy(from.key("worker"), to.resolve("key"), StandardCopyOption.REPLACE_EXISTING);
        Files.copy(from.authorities(), to.resolve("all"), StandardCopyOption.REPLACE_EXISTING);
    }

    private static TlsFiles manager(Certificates of) {
        return new TlsFiles(of.certificate("manager"), of.key("manager"), of.authorities());
    }

    private static void reached(Certificates with, RpcServer server) {
        try (Peers peers = new Peers(Optional.of(manager(with)))) {
            assertThat(peers.worker(server.address()).ping().incarnation()).isEqualTo(7);
        }
    }

    @Test
    void piecesAreServedToClientsAndNotToWorkers(@TempDir Path place) throws Exception {
        Certificates made = Certificates.make(Files.createDirectory(place.resolve("tls")), "node", "client", "worker");
        Fleet fleet = new Fleet(place);
        TlsFiles own = new TlsFiles(made.certificate("node"), made.key("node"), made.authorities());
        StorageNode node = fleet.node("n1");
        try (RpcServer server = RpcServer.start(
                "127.0.0.1:0",
                List.of(new RpcServer.Guarded(
                        new PieceService(node), Set.of(RpcServer.Role.OPERATOR, RpcServer.Role.CLIENT))),
                Optional.of(own))) {
            for (String role : List.of("client", "worker")) {
                TlsFiles files = new TlsFiles(made.certificate(role), made.key(role), made.authorities());
                try (Peers peers = new Peers(Optional.of(files))) {
                    if (role.equals("client")) {
                        assertThat(peers.pieces(node.id(), server.address()).idBytes())
                                .isEqualTo(16);
                    } else {
                        assertThatThrownBy(() -> peers.pieces(node.id(), server.address())
                                        .idBytes())
                                .hasMessageContaining("the certificate is of worker");
                    }
                }
            }
        } finally {
            fleet.close();
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
