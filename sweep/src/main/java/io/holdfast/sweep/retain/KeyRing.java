package io.holdfast.sweep.retain;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.Signature;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Whose signatures count: public keys with a role and a time, in a file that every node, worker and manager has.
 *
 * <pre>
 *   holdfast-keys 2
 *   key manager-2026 manager 2026-01-01T00:00:00Z 2027-02-01T00:00:00Z BASE64
 *   key ann operator 2026-01-01T00:00:00Z 2028-01-01T00:00:00Z BASE64
 *   revoked manager-2025 2026-03-02T10:15:00Z
 *   sealed 3 SHA-256
 * </pre>
 *
 * The last line seals the file: a copy that was cut short would otherwise have lost its revocations, which come last.
 *
 * To rotate, add the new key while the old one is still valid, then let the manager sign with the new one. A revoked key
 * counts for nothing from the moment that the file says so, whatever time is written in what it signed: the file is
 * read again when it changes, and one that cannot be read lets nothing pass.
 */
public final class KeyRing {

    /** What a key may sign. */
    public enum Role {
        /** Manifests, releases, permits, the end of alarms. */
        MANAGER,
        /** Approvals and restores. */
        OPERATOR,
        /** A worker's proof of who it is; nothing that a node acts on. */
        WORKER
    }

    /** A key as the file has it. */
    public record Entry(String id, Role role, Instant from, Instant until, String publicText) {}

    private static final String HEAD = "holdfast-keys 2";

    /** Not sealed; read, and sealed with the next change. */
    private static final String HEAD_BEFORE = "holdfast-keys 1";

    private static final long FILE_MAX = 1 << 20;

    private final @Nullable Path file;
    private final Map<String, Entry> entries = new LinkedHashMap<>();
    private final Map<String, Instant> revoked = new LinkedHashMap<>();
    /** Reading a public key costs as much as checking a signature. */
    private final Map<String, PublicKey> parsed = new HashMap<>();

    private @Nullable FileTime readAt;
    private long readSize;

    private KeyRing(@Nullable Path file) {
        this.file = file;
    }

    /** A ring in memory. */
    public static KeyRing of(Collection<Entry> entries) {
        KeyRing ring = new KeyRing(null);
        entries.forEach(ring::put);
        return ring;
    }

    /** The ring of a file, read again whenever it changes. */
    public static KeyRing at(Path file) throws IOException {
        KeyRing ring = new KeyRing(file);
        if (Files.exists(file)) {
            ring.refresh();
        }
        return ring;
    }

    public static Entry entry(SigningKey key, Role role, Instant from, Instant until) {
        return new Entry(key.id(), role, from, until, key.publicText());
    }

    public synchronized List<Entry> entries() {
        return List.copyOf(entries.values());
    }

    public synchronized Map<String, Instant> revoked() {
        return Map.copyOf(revoked);
    }

    /** Adds a key; an id is used once, for good. */
    public synchronized void add(Entry entry) throws IOException {
        if (entries.containsKey(entry.id()) || revoked.containsKey(entry.id())) {
            throw HoldfastException.misuse("the ring has a key " + entry.id(), "give the new key another id");
        }
        put(entry);
        write();
    }

    private void put(Entry entry) {
        SigningKey.checkId(entry.id());
        if (!entry.from().isBefore(entry.until())) {
            throw HoldfastException.misuse(
                    "key " + entry.id() + " from " + entry.from() + " until " + entry.until(),
                    "let it begin before it ends");
        }
        entries.put(entry.id(), entry);
    }

    /** From now on nothing that the key signed counts. */
    public synchronized void revoke(String id, Instant now) throws IOException {
        if (!entries.containsKey(id)) {
            throw new HoldfastException(
                    Category.GONE, "the ring has no key " + id, "name one of " + entries.keySet(), null);
        }
        revoked.put(id, now);
        write();
    }

    /** Throws MISUSE unless the text was signed by this key, which has the role now. */
    public void verify(Signed signed, String keyId, Role role, Instant now) {
        try {
            Signature signature = Signature.getInstance(SigningKey.ALGORITHM);
            signature.initVerify(trusted(keyId, role, now));
            signature.update(signed.text());
            if (!signature.verify(signed.signature())) {
                throw refuse("the signature is not by key " + keyId);
            }
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            throw refuse("the signature of key " + keyId + " cannot be checked: " + e.getMessage());
        }
    }

    /** The key if it has the role now. Checking a signature takes half a millisecond, so that is done outside. */
    private synchronized PublicKey trusted(String keyId, Role role, Instant now) throws GeneralSecurityException {
        refreshIfChanged();
        Entry entry = entries.get(keyId);
        if (entry == null) {
            throw refuse("key '" + keyId + "' is not in the ring");
        }
        if (revoked.containsKey(keyId)) {
            throw refuse("key " + keyId + " was revoked at " + revoked.get(keyId));
        }
        if (entry.role() != role) {
            throw refuse("key " + keyId + " is " + name(entry.role()) + "'s and this needs " + name(role) + "'s");
        }
        if (now.isBefore(entry.from()) || !now.isBefore(entry.until())) {
            throw refuse("key " + keyId + " is valid from " + entry.from() + " until " + entry.until());
        }
        PublicKey key = parsed.get(entry.publicText());
        if (key == null) {
            key = SigningKey.publicKey(entry.publicText());
            parsed.put(entry.publicText(), key);
        }
        return key;
    }

    private static HoldfastException refuse(String why) {
        return HoldfastException.misuse(why, "sign with a key that 'holdfast sweep keys list' shows as valid");
    }

    private static String name(Role role) {
        return role.name().toLowerCase(Locale.ROOT);
    }

    private void refreshIfChanged() {
        Path from = file;
        if (from == null) {
            return;
        }
        try {
            if (!Files.getLastModifiedTime(from).equals(readAt) || Files.size(from) != readSize) {
                refresh();
            }
        } catch (IOException | HoldfastException e) {
            entries.clear();
            readAt = null;
            throw refuse("the key ring cannot be read: " + e.getMessage());
        }
    }

    private void refresh() throws IOException {
        Path from = java.util.Objects.requireNonNull(file);
        FileTime time = Files.getLastModifiedTime(from);
        long size = Files.size(from);
        if (size > FILE_MAX) {
            throw corrupt("has " + size + " bytes");
        }
        List<String> lines = unsealed(Files.readAllLines(from, StandardCharsets.US_ASCII));
        entries.clear();
        revoked.clear();
        parsed.clear();
        for (String line : lines.subList(1, lines.size())) {
            parse(line);
        }
        readAt = time;
        readSize = size;
    }

    /** The lines without the seal, which must fit them. */
    private static List<String> unsealed(List<String> lines) {
        String head = lines.isEmpty() ? "" : lines.getFirst();
        if (head.equals(HEAD_BEFORE)) {
            return lines;
        }
        if (!head.equals(HEAD)) {
            throw corrupt("does not begin with '" + HEAD + "'");
        }
        List<String> body = lines.subList(0, lines.size() - 1);
        if (!lines.getLast().equals(seal(body))) {
            throw corrupt("is not sealed: it was cut short, or changed by hand");
        }
        return body;
    }

    private static String seal(List<String> lines) {
        try {
            byte[] text = String.join("\n", lines).getBytes(StandardCharsets.US_ASCII);
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text);
            return "sealed " + (lines.size() - 1) + " " + HexFormat.of().formatHex(digest);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("SHA-256 is missing", e);
        }
    }

    private void parse(String line) {
        String[] words = line.split(" ");
        try {
            if (words.length == 6 && words[0].equals("key")) {
                Role role = Role.valueOf(words[2].toUpperCase(Locale.ROOT));
                put(new Entry(words[1], role, Instant.parse(words[3]), Instant.parse(words[4]), words[5]));
                return;
            }
            if (words.length == 3 && words[0].equals("revoked")) {
                revoked.put(words[1], Instant.parse(words[2]));
                return;
            }
        } catch (IllegalArgumentException | DateTimeParseException e) {
            throw corrupt("has the line '" + line + "'");
        }
        throw corrupt("has the line '" + line + "'");
    }

    private static HoldfastException corrupt(String what) {
        return new HoldfastException(
                Category.CORRUPT, "the key ring " + what, "put back the file that 'holdfast sweep keys' wrote", null);
    }

    private void write() throws IOException {
        Path to = file;
        if (to == null) {
            return;
        }
        List<String> lines = new ArrayList<>(List.of(HEAD));
        for (Entry entry : entries.values()) {
            lines.add("key " + entry.id() + " " + name(entry.role()) + " " + entry.from() + " " + entry.until() + " "
                    + entry.publicText());
        }
        revoked.forEach((id, at) -> lines.add("revoked " + id + " " + at));
        lines.add(seal(lines));
        Path next = to.resolveSibling(to.getFileName() + ".next");
        Files.writeString(next, String.join("\n", lines) + "\n", StandardCharsets.US_ASCII);
        Files.move(next, to, StandardCopyOption.ATOMIC_MOVE);
        readAt = Files.getLastModifiedTime(to);
        readSize = Files.size(to);
    }
}
