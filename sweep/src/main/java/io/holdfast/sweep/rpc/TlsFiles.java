package io.holdfast.sweep.rpc;

import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.netty.handler.ssl.ClientAuth;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.nio.file.Path;
import java.util.List;
import javax.net.ssl.SSLException;

/**
 * Mutual TLS: both ends show a certificate of a common authority. The organisational unit of its subject is the role:
 * {@code OU=manager}, {@code worker}, {@code node}, {@code operator} or {@code client}.
 *
 * @param certificate PEM, the chain of this process
 * @param key PEM, PKCS#8, without a password
 * @param authorities PEM, whose certificates are believed
 */
public record TlsFiles(Path certificate, Path key, Path authorities) {

    /** Read again whenever a file changes. */
    SslContext client() {
        return new FreshSslContext(List.of(certificate, key, authorities), this::readClient);
    }

    /** Read again whenever a file changes. */
    SslContext server() {
        return new FreshSslContext(List.of(certificate, key, authorities), this::readServer);
    }

    private SslContext readClient() {
        try {
            return GrpcSslContexts.forClient()
                    .keyManager(certificate.toFile(), key.toFile())
                    .trustManager(authorities.toFile())
                    .build();
        } catch (SSLException | IllegalArgumentException e) {
            throw unreadable(e);
        }
    }

    private SslContext readServer() {
        try {
            return GrpcSslContexts.forServer(certificate.toFile(), key.toFile())
                    .trustManager(authorities.toFile())
                    .clientAuth(ClientAuth.REQUIRE)
                    .build();
        } catch (SSLException | IllegalArgumentException e) {
            throw unreadable(e);
        }
    }

    private HoldfastException unreadable(Exception cause) {
        return new HoldfastException(
                Category.MISUSE,
                "the files for TLS cannot be used: " + cause.getMessage(),
                "name PEM files: a certificate, its key in PKCS#8, the authorities",
                cause);
    }
}
