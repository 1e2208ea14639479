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
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who is let in at a port with mutual TLS: the roles of the port, and nobody else. */
class TlsIT {

    private static final String PASSWORD = "holdfast";

    @TempDir
    static Path folder;

    @BeforeAll
    static void certificates() throws Exception {
        StringBuilder authorities = new StringBuilder();
        for (String role : List.of("manager", "worker", "stranger")) {
            Path store = folder.resolve(role + ".p12");
            Process keytool = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "keytool")
                                    .toString(),
                            "-genkeypair",
                            "-alias",
                            role,
                            "-keyalg",
                            "EC",
                            "-dname",
                            "CN=test, OU=" + role,
                            "-ext",
                            "san=ip:127.0.0.1,dns:localhost",
                            "-keystore",
                            store.toString(),
                            "-storetype",
                            "PKCS12",
                            "-storepass",
                            PASSWORD)
                    .redirectErrorStream(true)
                    .start();
            assertThat(keytool.waitFor()).isZero();
            KeyStore keys = KeyStore.getInstance("PKCS12");
            try (InputStream in = Files.newInputStream(store)) {
                keys.load(in, PASSWORD.toCharArray());
            }
            String certificate = pem("CERTIFICATE", keys.getCertificate(role).getEncoded());
            Files.writeString(folder.resolve(role + ".crt"), certificate);
            byte[] key = Objects.requireNonNull(
                    keys.getKey(role, PASSWORD.toCharArray()).getEncoded());
            Files.writeString(folder.resolve(role + ".key"), pem("PRIVATE KEY", key));
            authorities.append(certificate);
        }
        Files.writeString(folder.resolve("authorities"), authorities);
    }

    private static String pem(String what, byte[] bytes) {
        return "-----BEGIN " + what + "-----\n"
                + Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII))
                        .encodeToString(bytes)
                + "\n-----END " + what + "-----\n";
    }

    private static Optional<TlsFiles> of(String role) {
        return Optional.of(new TlsFiles(
                folder.resolve(role + ".crt"), folder.resolve(role + ".key"), folder.resolve("authorities")));
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
                    .trustManager(folder.resolve("authorities").toFile())
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
