package io.holdfast.sweep.retain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KeyRingTest {

    private static final Instant NOW = Instant.parse("2026-05-01T00:00:00Z");
    private static final byte[] TEXT = "a text".getBytes(StandardCharsets.US_ASCII);

    @TempDir
    private Path folder;

    private static KeyRing.Entry entry(SigningKey key) {
        return KeyRing.entry(key, KeyRing.Role.MANAGER, NOW, NOW.plus(Duration.ofDays(30)));
    }

    @Test
    void rotationNeedsNoPause() throws IOException {
        Path file = folder.resolve("keys");
        SigningKey old = SigningKey.generate("m1");
        SigningKey next = SigningKey.generate("m2");
        KeyRing operators = KeyRing.at(file);
        operators.add(entry(old));
        KeyRing nodes = KeyRing.at(file);
        nodes.verify(old.sign(TEXT), "m1", KeyRing.Role.MANAGER, NOW);
        assertThatThrownBy(() -> nodes.verify(next.sign(TEXT), "m2", KeyRing.Role.MANAGER, NOW))
                .hasMessageContaining("not in the ring");
        operators.add(entry(next));
        assertThatCode(() -> nodes.verify(next.sign(TEXT), "m2", KeyRing.Role.MANAGER, NOW))
                .doesNotThrowAnyException();
        nodes.verify(old.sign(TEXT), "m1", KeyRing.Role.MANAGER, NOW);
        operators.revoke("m1", NOW);
        assertThatThrownBy(() -> nodes.verify(old.sign(TEXT), "m1", KeyRing.Role.MANAGER, NOW))
                .hasMessageContaining("revoked");
        assertThatThrownBy(() -> operators.add(entry(SigningKey.generate("m1"))))
                .hasMessageContaining("the ring has a key m1");
    }

    @Test
    void aKeyCountsInItsTimeAndRoleOnly() {
        SigningKey key = SigningKey.generate("m1");
        KeyRing ring = KeyRing.of(java.util.List.of(entry(key)));
        assertThatThrownBy(() -> ring.verify(key.sign(TEXT), "m1", KeyRing.Role.MANAGER, NOW.minusSeconds(1)))
                .hasMessageContaining("valid from");
        assertThatThrownBy(() -> ring.verify(key.sign(TEXT), "m1", KeyRing.Role.MANAGER, NOW.plus(Duration.ofDays(30))))
                .hasMessageContaining("valid from");
        assertThatThrownBy(() -> ring.verify(key.sign(TEXT), "m1", KeyRing.Role.OPERATOR, NOW))
                .hasMessageContaining("needs operator's");
    }

    @Test
    void aRingThatCannotBeReadLetsNothingPass() throws IOException {
        Path file = folder.resolve("keys");
        SigningKey key = SigningKey.generate("m1");
        KeyRing ring = KeyRing.at(file);
        ring.add(entry(key));
        Files.writeString(file, "holdfast-keys 1\nkey m1 king now then x\n");
        Files.setLastModifiedTime(file, FileTime.from(Instant.now().plusSeconds(5)));
        assertThatThrownBy(() -> ring.verify(key.sign(TEXT), "m1", KeyRing.Role.MANAGER, NOW))
                .hasMessageContaining("cannot be read");
        Files.delete(file);
        assertThatThrownBy(() -> ring.verify(key.sign(TEXT), "m1", KeyRing.Role.MANAGER, NOW))
                .hasMessageContaining("cannot be read");
    }

    @Test
    void ringCutAtALineEndLetsNothingPass() throws IOException {
        Path file = folder.resolve("keys");
        SigningKey key = SigningKey.generate("m1");
        KeyRing made = KeyRing.at(file);
        made.add(entry(key));
        made.revoke("m1", NOW);
        List<String> lines = Files.readAllLines(file);
        for (int left = 0; left < lines.size(); left++) {
            Files.writeString(
                    file, lines.stream().limit(left).map(line -> line + "\n").collect(Collectors.joining()));
            assertThatThrownBy(() -> KeyRing.at(file).verify(key.sign(TEXT), "m1", KeyRing.Role.MANAGER, NOW))
                    .isInstanceOf(HoldfastException.class);
        }
    }

    @Test
    void ringOfTheFirstVersionIsReadAndSealedWithTheNextChange() throws IOException {
        Path file = folder.resolve("keys");
        SigningKey key = SigningKey.generate("m1");
        Files.writeString(
                file,
                "holdfast-keys 1\nkey m1 manager " + NOW + " " + NOW.plus(Duration.ofDays(30)) + " " + key.publicText()
                        + "\n");
        KeyRing ring = KeyRing.at(file);
        ring.verify(key.sign(TEXT), "m1", KeyRing.Role.MANAGER, NOW);
        ring.add(entry(SigningKey.generate("m2")));
        assertThat(Files.readAllLines(file).getFirst()).isEqualTo("holdfast-keys 2");
        assertThat(Files.readAllLines(file).getLast()).startsWith("sealed 2 ");
        KeyRing.at(file).verify(key.sign(TEXT), "m1", KeyRing.Role.MANAGER, NOW);
    }

    @Test
    void keysInPemSignAndAreAdded() throws Exception {
        KeyPair pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
        Path secret = pem("manager-7.pem", "PRIVATE", pair.getPrivate().getEncoded());
        Path open = pem("manager-7.pub", "PUBLIC", pair.getPublic().getEncoded());
        SigningKey key = SigningKey.read(secret);
        assertThat(key.id()).isEqualTo("manager-7");
        KeyRing ring = KeyRing.of(List.of(new KeyRing.Entry(
                "manager-7", KeyRing.Role.MANAGER, NOW, NOW.plus(Duration.ofDays(30)), SigningKey.publicPem(open))));
        ring.verify(key.sign(TEXT), "manager-7", KeyRing.Role.MANAGER, NOW);
        KeyPair other = KeyPairGenerator.getInstance("X25519").generateKeyPair();
        Path wrong = pem("wrong.pem", "PRIVATE", other.getPrivate().getEncoded());
        assertThatThrownBy(() -> SigningKey.read(wrong)).hasMessageContaining("no Ed25519 key in PKCS#8");
        assertThatThrownBy(() -> SigningKey.publicPem(secret)).hasMessageContaining("no public Ed25519 key");
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-r--r--"));
        assertThatThrownBy(() -> SigningKey.read(secret)).hasMessageContaining("others can read");
    }

    private Path pem(String name, String kind, byte[] bytes) throws IOException {
        Path file = folder.resolve(name);
        Files.writeString(
                file,
                "-----BEGIN " + kind + " KEY-----\n"
                        + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes)
                        + "\n-----END " + kind + " KEY-----\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        return file;
    }

    @Test
    void aSigningKeyIsForItsOwnerAlone() throws IOException {
        Path file = folder.resolve("m1.key");
        SigningKey key = SigningKey.generate("m1");
        key.write(file);
        assertThat(Files.getPosixFilePermissions(file)).isEqualTo(PosixFilePermissions.fromString("rw-------"));
        assertThat(SigningKey.read(file).publicText()).isEqualTo(key.publicText());
        assertThat(SigningKey.read(file).sign(TEXT)).isEqualTo(key.sign(TEXT));
        assertThatThrownBy(() -> key.write(file)).hasMessageContaining("m1.key exists");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        assertThatThrownBy(() -> SigningKey.read(file)).hasMessageContaining("others can read");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        Files.writeString(file, "nonsense");
        assertThatThrownBy(() -> SigningKey.read(file)).hasMessageContaining("no signing key");
    }
}
