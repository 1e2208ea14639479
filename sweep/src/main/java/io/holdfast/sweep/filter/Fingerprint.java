package io.holdfast.sweep.filter;

import com.dynatrace.hash4j.hashing.HashValue128;
import com.dynatrace.hash4j.hashing.Hasher128;
import com.dynatrace.hash4j.hashing.Hashing;
import io.holdfast.HoldfastException;

/**
 * The 128 bits that stand for a piece id everywhere behind the catalogue: on the wire, in filters, in sums. Computed
 * once, by the thread that read the id.
 *
 * <p>The function is fixed for good: version {@value #VERSION} is XXH3-128 with seed 0 over the id's bytes. A filter
 * names the version that it was made with, and a node that does not know it refuses the filter. Two ids with the same
 * fingerprint can only keep a piece alive that nobody knows; they can never make a live one look dead.
 */
public record Fingerprint(long high, long low) {

    /** Which function makes the fingerprints. */
    public static final int VERSION = 1;

    /** Ids are 1 to so many bytes. */
    public static final int ID_BYTES_MAX = 64;

    private static final Hasher128 FUNCTION = Hashing.xxh3_128(0);

    public static Fingerprint of(byte[] id) {
        HashValue128 hash = hash(id, 0, id.length);
        return new Fingerprint(hash.getMostSignificantBits(), hash.getLeastSignificantBits());
    }

    /** Puts the fingerprint of an id into {@code target[at]} (high half) and {@code target[at + 1]} (low half). */
    public static void put(byte[] id, int offset, int length, long[] target, int at) {
        HashValue128 hash = hash(id, offset, length);
        target[at] = hash.getMostSignificantBits();
        target[at + 1] = hash.getLeastSignificantBits();
    }

    private static HashValue128 hash(byte[] id, int offset, int length) {
        if (length < 1 || length > ID_BYTES_MAX) {
            throw HoldfastException.misuse(
                    "an id of " + length + " bytes", "use ids of 1 to " + ID_BYTES_MAX + " bytes");
        }
        return FUNCTION.hashBytesTo128Bits(id, offset, length);
    }
}
