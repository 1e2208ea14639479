package io.holdfast.sweep.retain;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.filter.FilterFormat;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * What a cycle tells one node along with its filter. It is stored and signed as exactly the bytes of {@link
 * #encode()}.
 *
 * @param owner whose pieces may be touched; no others
 * @param cycle number of the cycle; a node takes none that is not newer than its last
 * @param attempt which attempt at this node within the cycle
 * @param issuedAt when the cycle was released, by the issuer's clock
 * @param goodUntil a node does not take it later than this
 * @param cutoff what was created later than this is not in the filter and must not be judged by it
 * @param incarnation the life of the catalogue that the filter was made from
 * @param rows how many rows of the catalogue went into the filter
 * @param distinctLeast at least so many different live ids are in it
 * @param seed of the filter
 * @param digest SHA-256 over the filter's bytes, in hexadecimal digits
 * @param witnesses fingerprints of live pieces that the filter must answer to, drawn after its builder had committed
 *     itself to the digest
 * @param built who answers for the filter
 * @param keyId which key signs; empty within one process, where nothing is signed
 */
public record Manifest(
        OwnerId owner,
        NodeId node,
        long cycle,
        int attempt,
        Instant issuedAt,
        Instant goodUntil,
        Instant cutoff,
        String incarnation,
        long rows,
        long distinctLeast,
        int fingerprintVersion,
        int filterVersion,
        long seed,
        String digest,
        List<Fingerprint> witnesses,
        Built built,
        String keyId) {

    /** How many live pieces a filter is tried with. */
    public static final int WITNESSES = 256;

    /** How long a manifest is good for. */
    public static final Duration VALID_FOR = Duration.ofHours(24);

    private static final String DOMAIN = "holdfast retain 3";
    private static final int TEXT_MAX = 512;

    public Manifest {
        Objects.requireNonNull(owner);
        Objects.requireNonNull(node);
        if (cycle < 1 || attempt < 1 || rows < 0 || distinctLeast < 0 || distinctLeast > rows) {
            throw HoldfastException.misuse(
                    "a manifest with cycle " + cycle + ", attempt " + attempt + ", rows " + rows + ", distinct "
                            + distinctLeast,
                    "number cycles and attempts from 1, and count no more ids than rows");
        }
        if (!digest.matches("[0-9a-f]{64}") || incarnation.length() > TEXT_MAX) {
            throw HoldfastException.misuse(
                    "a digest '" + digest + "', an incarnation of " + incarnation.length() + " letters",
                    "use SHA-256 and at most " + TEXT_MAX + " letters");
        }
        witnesses = List.copyOf(witnesses);
        if (witnesses.size() > WITNESSES || keyId.length() > TEXT_MAX) {
            throw HoldfastException.misuse(
                    witnesses.size() + " witnesses and a key id of " + keyId.length() + " letters",
                    "name at most " + WITNESSES + " witnesses");
        }
        issuedAt = Instant.ofEpochMilli(issuedAt.toEpochMilli());
        goodUntil = Instant.ofEpochMilli(goodUntil.toEpochMilli());
        cutoff = Instant.ofEpochMilli(cutoff.toEpochMilli());
    }

    /** The manifest of a filter made by this version of Holdfast, within this process. */
    public static Manifest of(
            OwnerId owner,
            NodeId node,
            long cycle,
            Instant issuedAt,
            Instant cutoff,
            String incarnation,
            long rows,
            long distinctLeast,
            LiveFilter filter) {
        return new Manifest(
                owner,
                node,
                cycle,
                1,
                issuedAt,
                issuedAt.plus(VALID_FOR),
                cutoff,
                incarnation,
                rows,
                distinctLeast,
                Fingerprint.VERSION,
                LiveFilter.VERSION,
                filter.seed(),
                FilterFormat.digestText(filter),
                List.of(),
                Built.AGREED,
                "");
    }

    /** The same with the id of the key that signs it. */
    public Manifest signedBy(String id) {
        return with(built, id);
    }

    /** The same of a filter that was built by one worker alone. */
    public Manifest builtBy(Built worker) {
        return with(worker, keyId);
    }

    private Manifest with(Built builtBy, String signedBy) {
        return new Manifest(
                owner,
                node,
                cycle,
                attempt,
                issuedAt,
                goodUntil,
                cutoff,
                incarnation,
                rows,
                distinctLeast,
                fingerprintVersion,
                filterVersion,
                seed,
                digest,
                witnesses,
                builtBy,
                signedBy);
    }

    public byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeUTF(DOMAIN);
            out.writeUTF(owner.name());
            out.writeUTF(node.name());
            out.writeLong(cycle);
            out.writeInt(attempt);
            out.writeLong(issuedAt.toEpochMilli());
            out.writeLong(goodUntil.toEpochMilli());
            out.writeLong(cutoff.toEpochMilli());
            out.writeUTF(incarnation);
            out.writeLong(rows);
            out.writeLong(distinctLeast);
            out.writeInt(fingerprintVersion);
            out.writeInt(filterVersion);
            out.writeLong(seed);
            out.writeUTF(digest);
            out.writeInt(witnesses.size());
            for (Fingerprint witness : witnesses) {
                out.writeLong(witness.high());
                out.writeLong(witness.low());
            }
            out.writeUTF(built.by());
            out.writeUTF(keyId);
        } catch (IOException e) {
            throw new IllegalStateException("writing to memory failed", e);
        }
        return bytes.toByteArray();
    }

    /** Reads what {@link #encode} wrote; CORRUPT if it is anything else. */
    public static Manifest decode(byte[] bytes) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            if (!in.readUTF().equals(DOMAIN)) {
                throw new IOException("it is not '" + DOMAIN + "'");
            }
            Manifest manifest = new Manifest(
                    new OwnerId(in.readUTF()),
                    new NodeId(in.readUTF()),
                    in.readLong(),
                    in.readInt(),
                    Instant.ofEpochMilli(in.readLong()),
                    Instant.ofEpochMilli(in.readLong()),
                    Instant.ofEpochMilli(in.readLong()),
                    in.readUTF(),
                    in.readLong(),
                    in.readLong(),
                    in.readInt(),
                    in.readInt(),
                    in.readLong(),
                    in.readUTF(),
                    witnesses(in),
                    new Built(in.readUTF()),
                    in.readUTF());
            if (in.read() >= 0) {
                throw new IOException("it goes on after its end");
            }
            return manifest;
        } catch (IOException | HoldfastException e) {
            throw new HoldfastException(
                    Category.CORRUPT, "not a manifest: " + e.getMessage(), "drop it; nothing is trashed by it", e);
        }
    }

    private static List<Fingerprint> witnesses(DataInputStream in) throws IOException {
        int count = in.readInt();
        if (count < 0 || count > WITNESSES) {
            throw new IOException(count + " witnesses");
        }
        List<Fingerprint> witnesses = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            witnesses.add(new Fingerprint(in.readLong(), in.readLong()));
        }
        return witnesses;
    }

    @Override
    public String toString() {
        return "cycle " + cycle + " of " + owner + " for " + node + ", filter " + digest.substring(0, 8);
    }
}
