package io.holdfast.testkit;

import io.holdfast.embedded.ScratchFolder;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * A certificate for 127.0.0.1 and localhost that nobody trusts but who is told to: made once per process, as files for
 * the server and as a trust store for clients. {@link Certificates} makes those of a fleet.
 */
public final class Certificate {

    /** The password of {@link #trustStore()}. */
    public static final String PASSWORD = "holdfast";

    private static final String ALIAS = "server";

    private final Path trustStore;
    private final Path certificateFile;
    private final Path keyFile;

    private Certificate(Path folder) throws IOException, GeneralSecurityException {
        Certificates made = Certificates.make(folder, ALIAS);
        certificateFile = made.certificate(ALIAS);
        keyFile = made.key(ALIAS);
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry(ALIAS, made.store(ALIAS).getCertificate(ALIAS));
        trustStore = folder.resolve("trust.p12");
        try (OutputStream out = Files.newOutputStream(trustStore)) {
            trusted.store(out, PASSWORD.toCharArray());
        }
    }

    static Certificate forLoopback() {
        return Made.ONCE;
    }

    Path certificateFile() {
        return certificateFile;
    }

    Path keyFile() {
        return keyFile;
    }

    /** A PKCS12 store with the certificate, for {@code javax.net.ssl.trustStore}. */
    public Path trustStore() {
        return trustStore;
    }

    /** A context that trusts this certificate and no other. */
    public SSLContext sslContext() {
        try {
            var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(Certificates.load(trustStore));
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context;
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalStateException("the test certificate cannot be used", e);
        }
    }

    private static final class Made {

        static final Certificate ONCE = make();

        private static Certificate make() {
            try {
                Path folder = Files.createTempDirectory("holdfast-certificate-");
                Runtime.getRuntime().addShutdownHook(new Thread(() -> ScratchFolder.remove(folder)));
                return new Certificate(folder);
            } catch (IOException | GeneralSecurityException e) {
                throw new IllegalStateException("no test certificate could be made", e);
            }
        }
    }
}
