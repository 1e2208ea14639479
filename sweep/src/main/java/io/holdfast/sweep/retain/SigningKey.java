package io.holdfast.sweep.retain;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A key that signs, and the file it is kept in:
 *
 * <pre>
 *   holdfast-signing-key 1
 *   id manager-2026
 *   public BASE64
 *   private BASE64
 * </pre>
 *
 * The file is readable for its owner alone; one that others can read is refused.
 */
public final class SigningKey {

    static final String ALGORITHM = "Ed25519";
    static final Pattern ID = Pattern.compile("[A-Za-z0-9._-]{1,64}");

    private static final String HEAD = "holdfast-signing-key 1";
    private static final String PEM_PRIVATE = "-----BEGIN PRIVATE KEY-----";
    private static final String PEM_PUBLIC = "-----BEGIN PUBLIC KEY-----";
    private static final long FILE_MAX = 4096;

    private final String id;
    private final PrivateKey privateKey;
    private final @Nullable PublicKey publicKey;

    private SigningKey(String id, PrivateKey privateKey, @Nullable PublicKey publicKey) {
        this.id = checkId(id);
        this.privateKey = privateKey;
        this.publicKey = publicKey;
    }

    static String checkId(String id) {
        if (!ID.matcher(id).matches()) {
            throw HoldfastException.misuse("a key id '" + id + "'", "use 1 to 64 characters of A-Z a-z 0-9 . _ -");
        }
        return id;
    }

    /** A fresh key. */
    public static SigningKey generate(String id) {
        try {
            KeyPair pair = KeyPairGenerator.getInstance(ALGORITHM).generateKeyPair();
            return new SigningKey(id, pair.getPrivate(), pair.getPublic());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this JVM has no " + ALGORITHM, e);
        }
    }

    public String id() {
        return id;
    }

    /** The public half, as a {@link KeyRing} has it; a PEM file does not have it. */
    public String publicText() {
        PublicKey known = publicKey;
        if (known == null) {
            throw HoldfastException.misuse(
                    "the file of key " + id + " has no public half", "add it with 'holdfast sweep keys add'");
        }
        return Base64.getEncoder().encodeToString(known.getEncoded());
    }

    public Signed sign(byte[] text) {
        try {
            Signature signature = Signature.getInstance(ALGORITHM);
            signature.initSign(privateKey);
            signature.update(text);
            return new Signed(text, signature.sign());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("signing with key " + id + " failed", e);
        }
    }

    /** Writes a new file; one that exists is never overwritten. */
    public void write(Path file) throws IOException {
        String text = HEAD + "\nid " + id + "\npublic " + publicText() + "\nprivate "
                + Base64.getEncoder().encodeToString(privateKey.getEncoded()) + "\n";
        try {
            Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        } catch (FileAlreadyExistsException e) {
            throw HoldfastException.misuse(
                    file.getFileName() + " exists", "name another file; a key is never overwritten");
        }
        Files.writeString(file, text, StandardCharsets.US_ASCII, StandardOpenOption.WRITE);
    }

    public static SigningKey read(Path file) throws IOException {
        Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(file);
        permissions.removeAll(PosixFilePermissions.fromString("rwx------"));
        if (!permissions.isEmpty()) {
            throw HoldfastException.misuse(
                    "others can read the signing key " + file.getFileName(), "chmod 600, and consider the key stolen");
        }
        if (Files.size(file) > FILE_MAX) {
            throw corrupt(file, null);
        }
        List<String> lines = Files.readAllLines(file, StandardCharsets.US_ASCII);
        if (!lines.isEmpty() && lines.getFirst().equals(PEM_PRIVATE)) {
            return pem(file, lines);
        }
        if (lines.size() != 4
                || !lines.get(0).equals(HEAD)
                || !lines.get(1).startsWith("id ")
                || !lines.get(2).startsWith("public ")
                || !lines.get(3).startsWith("private ")) {
            throw corrupt(file, null);
        }
        try {
            byte[] secret = Base64.getDecoder().decode(lines.get(3).substring("private ".length()));
            PrivateKey key = KeyFactory.getInstance(ALGORITHM).generatePrivate(new PKCS8EncodedKeySpec(secret));
            return new SigningKey(
                    lines.get(1).substring("id ".length()),
                    key,
                    publicKey(lines.get(2).substring("public ".length())));
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            throw corrupt(file, e);
        }
    }

    /** PKCS#8, as openssl makes it. It carries no id, so the file's name does: ID.pem or ID.key. */
    private static SigningKey pem(Path file, List<String> lines) {
        String name = "" + file.getFileName();
        String id = name.replaceFirst("\\.(pem|key)$", "");
        try {
            byte[] secret = pemBytes(lines, PEM_PRIVATE);
            PrivateKey key = KeyFactory.getInstance(ALGORITHM).generatePrivate(new PKCS8EncodedKeySpec(secret));
            return new SigningKey(checkId(id), key, null);
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            throw new HoldfastException(
                    Category.CORRUPT,
                    name + " is no Ed25519 key in PKCS#8",
                    "make one with: openssl genpkey -algorithm ed25519 -out " + id + ".pem",
                    e);
        }
    }

    /** The public half in a PEM file (SPKI), as a {@link KeyRing} has it. */
    public static String publicPem(Path file) throws IOException {
        try {
            if (Files.size(file) > FILE_MAX) {
                throw new IllegalArgumentException(Files.size(file) + " bytes");
            }
            byte[] bytes = pemBytes(Files.readAllLines(file, StandardCharsets.US_ASCII), PEM_PUBLIC);
            String text = Base64.getEncoder().encodeToString(bytes);
            publicKey(text);
            return text;
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            throw new HoldfastException(
                    Category.CORRUPT,
                    file.getFileName() + " is no public Ed25519 key",
                    "make it with: openssl pkey -in ID.pem -pubout -out ID.pub",
                    e);
        }
    }

    private static byte[] pemBytes(List<String> lines, String head) {
        String end = head.replace("BEGIN", "END");
        int last = lines.indexOf(end);
        if (lines.isEmpty() || !lines.getFirst().equals(head) || last < 0) {
            throw new IllegalArgumentException("it does not begin with " + head + " and end with " + end);
        }
        return Base64.getDecoder().decode(String.join("", lines.subList(1, last)));
    }

    static PublicKey publicKey(String text) throws GeneralSecurityException {
        return KeyFactory.getInstance(ALGORITHM)
                .generatePublic(new X509EncodedKeySpec(Base64.getDecoder().decode(text)));
    }

    private static HoldfastException corrupt(Path file, @Nullable Exception cause) {
        return new HoldfastException(
                Category.CORRUPT,
                file.getFileName() + " is no signing key",
                "name a file that 'holdfast sweep keys new' wrote",
                cause);
    }
}
