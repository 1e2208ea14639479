package io.holdfast.sweep.filter;

import com.dynatrace.hash4j.hashing.Hasher64;
import com.dynatrace.hash4j.hashing.Hashing;
import java.util.Arrays;

/**
 * The live ids of one node: a split-block Bloom filter over 64-bit words.
 *
 * <h2>What it promises</h2>
 *
 * An id that was added is always found. An id that was not is found by chance, at the rate of the {@link
 * FilterGeometry}. The words depend on nothing but the set of ids, the seed and the geometry: two builders that saw the
 * same ids in any order, with any repeats, have the same bytes and so the same digest.
 *
 * <h2>How</h2>
 *
 * <pre>
 *   h     = keyed hash of the fingerprint, 64 bits; the key is the seed
 *   block = (h * blocks) >>> 64                                        the upper bits choose
 *   bit   = (low32(h) * SALT[w]) >>> 26      in word w of the block    the lower bits set one bit a word
 *
 *      block 0               block 1                          block n-1
 *     +-----+-----+-----+-----+-----+-----+-----+-----+  ...  +-----+-----+-----+-----+
 *     | w0  | w1  | w2  | w3  | w0  | w1  | w2  | w3  |       | w0  | w1  | w2  | w3  |   COARSE: 4 words, FINE: 8
 *     +-----+-----+-----+-----+-----+-----+-----+-----+  ...  +-----+-----+-----+-----+
 * </pre>
 *
 * One id touches one block, so it costs one cache miss however many bits it sets. Block and bits both depend on the
 * whole seed: a fresh seed each cycle draws all of them anew, and garbage that survived one cycle by chance survives
 * the next with the same small probability as any other. (Families that share the hash and only shuffle its bytes let
 * the same garbage survive every time.)
 *
 * <p>Not safe for writers on several threads: a builder gives each filter to one thread at a time, a batch a turn,
 * which is also what keeps it in the cache. Readers need no lock once the filter is complete.
 */
public final class LiveFilter {

    /** Which layout of words and bits this is; goes with the bytes wherever they go. */
    public static final int VERSION = 1;

    // The salts of the split-block filter in the Parquet format: odd, and known to spread 32 bits well.
    private static final int SALT_0 = 0x47b6137b;
    private static final int SALT_1 = 0x44974d91;
    private static final int SALT_2 = 0x8824ad5b;
    private static final int SALT_3 = 0xa2b7289d;
    private static final int SALT_4 = 0x705495c7;
    private static final int SALT_5 = 0x2df1424b;
    private static final int SALT_6 = 0x9efc4947;
    private static final int SALT_7 = 0x5c6bfb31;

    private static final int BATCH = 128;

    /**
     * Unused words before the first block. An array's header takes 16 bytes, and large arrays begin at a page: with six
     * words more, blocks lie within cache lines instead of across two of them.
     */
    static final int LEAD = 6;

    private final FilterGeometry geometry;
    private final long seed;
    private final Hasher64 keyed;
    private final long[] words;

    @SuppressWarnings("UnusedVariable") // written so that the loads behind it are not optimised away
    private long touched;

    private LiveFilter(FilterGeometry geometry, long seed, long[] words) {
        this.geometry = geometry;
        this.seed = seed;
        this.keyed = Hashing.xxh3_64(seed);
        this.words = words;
    }

    /** A filter without ids. */
    public static LiveFilter empty(FilterGeometry geometry, long seed) {
        return new LiveFilter(geometry, seed, new long[LEAD + geometry.wordsTotal()]);
    }

    /** A filter with the words that {@link FilterFormat} read, after {@link #LEAD} unused ones. */
    static LiveFilter ofWords(FilterGeometry geometry, long seed, long[] words) {
        return new LiveFilter(geometry, seed, words);
    }

    /** Adds an id by its fingerprint; true if the filter did not answer to it before. */
    public boolean add(long high, long low) {
        long hash = keyed.hashLongLongToLong(high, low);
        return (geometry.words() == FilterGeometry.COARSE ? addCoarse(hash) : addFine(hash)) != 0;
    }

    public boolean add(Fingerprint fingerprint) {
        return add(fingerprint.high(), fingerprint.low());
    }

    /**
     * Adds a batch of fingerprints, each two longs (high, low), and tells how many of them the filter did not answer to
     * before: a number that repeats never raise, so it is a lower bound of how many different ids there are.
     */
    public int addAll(long[] fingerprints, int from, int to) {
        long[] hashes = new long[BATCH];
        long fresh = 0;
        for (int start = from; start < to; start += 2 * BATCH) {
            int end = Math.min(to, start + 2 * BATCH);
            int count = 0;
            for (int i = start; i < end; i += 2) {
                hashes[count++] = keyed.hashLongLongToLong(fingerprints[i], fingerprints[i + 1]);
            }
            touch(hashes, count);
            fresh += geometry.words() == FilterGeometry.COARSE ? addCoarse(hashes, count) : addFine(hashes, count);
        }
        return (int) fresh;
    }

    /**
     * Reads a word of each block of the batch before any is changed: loads do not wait for each other as changes do, so
     * the cache misses of the whole batch are under way at the same time. Twice as fast for filters beyond the cache.
     */
    private void touch(long[] hashes, int count) {
        long[] w = words;
        int stride = geometry.words();
        long sum = 0;
        for (int i = 0; i < count; i++) {
            sum += w[LEAD + block(hashes[i]) * stride];
        }
        touched = sum;
    }

    private long addCoarse(long[] hashes, int count) {
        long fresh = 0;
        for (int i = 0; i < count; i++) {
            fresh += one(addCoarse(hashes[i]));
        }
        return fresh;
    }

    private long addFine(long[] hashes, int count) {
        long fresh = 0;
        for (int i = 0; i < count; i++) {
            fresh += one(addFine(hashes[i]));
        }
        return fresh;
    }

    /** 1 if any bit is set, else 0, without a branch: whether an id is fresh cannot be predicted. */
    private static long one(long bits) {
        return (bits | -bits) >>> 63;
    }

    /** False: certainly not added. True: added, or found by chance. */
    public boolean mayContain(long high, long low) {
        long hash = keyed.hashLongLongToLong(high, low);
        return geometry.words() == FilterGeometry.COARSE ? hasCoarse(hash) : hasFine(hash);
    }

    public boolean mayContain(Fingerprint fingerprint) {
        return mayContain(fingerprint.high(), fingerprint.low());
    }

    /** Whether no id was ever added. */
    public boolean isEmpty() {
        for (long word : words) {
            if (word != 0) {
                return false;
            }
        }
        return true;
    }

    public FilterGeometry geometry() {
        return geometry;
    }

    public long seed() {
        return seed;
    }

    long[] words() {
        return words;
    }

    private int block(long hash) {
        return (int) Math.unsignedMultiplyHigh(hash, geometry.blocks());
    }

    private long addCoarse(long hash) {
        long[] w = words;
        int at = LEAD + block(hash) * FilterGeometry.COARSE;
        int x = (int) hash;
        long m0 = bit(x, SALT_0);
        long m1 = bit(x, SALT_1);
        long m2 = bit(x, SALT_2);
        long m3 = bit(x, SALT_3);
        long w0 = w[at];
        long w1 = w[at + 1];
        long w2 = w[at + 2];
        long w3 = w[at + 3];
        w[at] = w0 | m0;
        w[at + 1] = w1 | m1;
        w[at + 2] = w2 | m2;
        w[at + 3] = w3 | m3;
        return (m0 & ~w0) | (m1 & ~w1) | (m2 & ~w2) | (m3 & ~w3);
    }

    private long addFine(long hash) {
        long[] w = words;
        int at = LEAD + block(hash) * FilterGeometry.FINE;
        int x = (int) hash;
        long fresh = set(w, at, bit(x, SALT_0));
        fresh |= set(w, at + 1, bit(x, SALT_1));
        fresh |= set(w, at + 2, bit(x, SALT_2));
        fresh |= set(w, at + 3, bit(x, SALT_3));
        fresh |= set(w, at + 4, bit(x, SALT_4));
        fresh |= set(w, at + 5, bit(x, SALT_5));
        fresh |= set(w, at + 6, bit(x, SALT_6));
        fresh |= set(w, at + 7, bit(x, SALT_7));
        return fresh;
    }

    private boolean hasCoarse(long hash) {
        long[] w = words;
        int at = LEAD + block(hash) * FilterGeometry.COARSE;
        int x = (int) hash;
        return (missing(w[at], x, SALT_0)
                        | missing(w[at + 1], x, SALT_1)
                        | missing(w[at + 2], x, SALT_2)
                        | missing(w[at + 3], x, SALT_3))
                == 0;
    }

    private boolean hasFine(long hash) {
        long[] w = words;
        int at = LEAD + block(hash) * FilterGeometry.FINE;
        int x = (int) hash;
        return (missing(w[at], x, SALT_0)
                        | missing(w[at + 1], x, SALT_1)
                        | missing(w[at + 2], x, SALT_2)
                        | missing(w[at + 3], x, SALT_3)
                        | missing(w[at + 4], x, SALT_4)
                        | missing(w[at + 5], x, SALT_5)
                        | missing(w[at + 6], x, SALT_6)
                        | missing(w[at + 7], x, SALT_7))
                == 0;
    }

    private static long set(long[] words, int at, long mask) {
        long word = words[at];
        words[at] = word | mask;
        return mask & ~word;
    }

    private static long missing(long word, int x, int salt) {
        return bit(x, salt) & ~word;
    }

    private static long bit(int x, int salt) {
        return 1L << ((x * salt) >>> 26);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof LiveFilter that
                && seed == that.seed
                && geometry.equals(that.geometry)
                && Arrays.equals(words, that.words);
    }

    @Override
    public int hashCode() {
        return Long.hashCode(seed) * 31 + geometry.hashCode();
    }

    @Override
    public String toString() {
        return "LiveFilter[" + geometry.blocks() + " x " + geometry.words() + " words]";
    }
}
