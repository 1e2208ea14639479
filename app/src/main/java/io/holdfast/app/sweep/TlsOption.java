package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.rpc.TlsFiles;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Mutual TLS, the same for all that talk over the network. */
public final class TlsOption {

    @Option(names = "--tls-certificate", paramLabel = "FILE", order = 80, description = "PEM; its OU is the role.")
    private @Nullable Path certificate;

    @Option(names = "--tls-key", paramLabel = "FILE", order = 81, description = "PEM, PKCS#8, of the certificate.")
    private @Nullable Path key;

    @Option(names = "--tls-authorities", paramLabel = "FILE", order = 82, description = "PEM; who is believed.")
    private @Nullable Path authorities;

    Optional<TlsFiles> files() {
        if (certificate == null && key == null && authorities == null) {
            return Optional.empty();
        }
        if (certificate == null || key == null || authorities == null) {
            throw HoldfastException.misuse(
                    "TLS with some of its files", "give --tls-certificate, --tls-key and --tls-authorities, or none");
        }
        return Optional.of(new TlsFiles(certificate, key, authorities));
    }
}
