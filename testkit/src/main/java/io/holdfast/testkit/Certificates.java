package io.holdfast.testkit;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Objects;

/**
 * Certificates for tests of mutual TLS, made by the JDK's own tool: one a unit, in {@code UNIT.crt} with its key in {@code
 * UNIT.key}, good for this host. Each vouches for itself, and all of them are in {@link #authorities}.
 */
public final class Certificates {

    private static final String PASSWORD = Certificate.PASSWORD;

    private final Path folder;

    private Certificates(Path folder) {
        this.folder = folder;
    }

    /** @param units the organisational units of the subjects */
    public static Certificates make(Path folder, String... units) throws IOException, GeneralSecurityException {
        Certificates made = new Certificates(folder);
        StringBuilder all = new StringBuilder();
        for (String unit : units) {
            all.append(made.add(unit));
        }
        Files.writeString(made.authorities(), all);
        return made;
    }

    private String add(String unit) throws IOException, GeneralSecurityException {
        Path store = folder.resolve(unit + ".p12");
        keytool(
                "-genkeypair",
                "-alias",
                unit,
                "-keyalg",
                "EC",
                "-dname",
                "CN=test, OU=" + unit,
                "-ext",
                "san=ip:127.0.0.1,dns:localhost",
                "-keystore",
                store.toString(),
                "-storetype",
                "PKCS12",
                "-storepass",
                PASSWORD);
        KeyStore keys = load(store);
        String text = pem("CERTIFICATE", keys.getCertificate(unit).getEncoded());
        Files.writeString(certificate(unit), text);
        byte[] key =
                Objects.requireNonNull(keys.getKey(unit, PASSWORD.toCharArray()).getEncoded());
        Files.writeString(key(unit), pem("PRIVATE KEY", key));
        return text;
    }

    private static void keytool(String... arguments) throws IOException {
        Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
        List<String> command = new ArrayList<>(List.of(keytool.toString(), "-J-XX:TieredStopAtLevel=1"));
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

    static KeyStore load(Path store) throws IOException, GeneralSecurityException {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, PASSWORD.toCharArray());
        }
        return keys;
    }

    private static String pem(String what, byte[] bytes) {
        return "-----BEGIN " + what + "-----\n"
                + Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII))
                        .encodeToString(bytes)
                + "\n-----END " + what + "-----\n";
    }

    /** Certificate and key of a unit, under its name. */
    KeyStore store(String unit) throws IOException, GeneralSecurityException {
        return load(folder.resolve(unit + ".p12"));
    }

    public Path certificate(String unit) {
        return folder.resolve(unit + ".crt");
    }

    public Path key(String unit) {
        return folder.resolve(unit + ".key");
    }

    /** Whose certificates are believed: all of them. */
    public Path authorities() {
        return folder.resolve("authorities");
    }
}
