package io.holdfast.testkit;

import io.holdfast.embedded.ScratchFolder;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * A certificate for 127.0.0.1 and localhost that nobody trusts but who is told to: made once per process by the JDK's
 * own keytool, as files for the server and as a trust store for clients.
 */
public final class Certificate {

    /** The password of {@link #trustStore()}. */
    public static final String PASSWORD = "holdfast";

    private static final String ALIAS = "server";

    private final Path trustStore;
    private final Path certificateFile;
    private final Path keyFile;

    private Certificate(Path folder) throws IOException, GeneralSecurityException {
        Path store = folder.resolve("server.p12");
        keytool(
                "-genkeypair",
                "-alias",
                ALIAS,
                "-keyalg",
                "EC",
                "-groupname",
                "secp256r1",
                "-validity",
                "2",
                "-dname",
                "CN=holdfast test",
                "-ext",
                "san=ip:127.0.0.1,dns:localhost",
                "-keystore",
                store.toString(),
                "-storetype",
                "PKCS12",
                "-storepass",
                PASSWORD);
        KeyStore keys = load(store);
        Key key = keys.getKey(ALIAS, PASSWORD.toCharArray());
        certificateFile = pem(
                folder.resolve("server.crt"),
                "CERTIFICATE",
                keys.getCertificate(ALIAS).getEncoded());
        keyFile = pem(folder.resolve("server.key"), "PRIVATE KEY", key.getEncoded());
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry(ALIAS, keys.getCertificate(ALIAS));
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
            trust.init(load(trustStore));
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context;
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalStateException("the test certificate cannot be used", e);
        }
    }

    private static KeyStore load(Path store) throws IOException, GeneralSecurityException {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, PASSWORD.toCharArray());
        }
        return keys;
    }

    private static Path pem(Path file, String kind, byte[] der) throws IOException {
        String lines = Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII))
                .encodeToString(der);
        return Files.writeString(file, "-----BEGIN " + kind + "-----\n" + lines + "\n-----END " + kind + "-----\n");
    }

    private static void keytool(String... arguments) throws IOException {
        Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
        var command = new ArrayList<>(List.of(keytool.toString(), "-J-XX:TieredStopAtLevel=1"));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        try {
            if (process.waitFor() != 0) {
                throw new IllegalStateException("keytool failed: " + said);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
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
