package io.holdfast.sweep.transfer;

import com.dynatrace.hash4j.hashing.Hasher64;
import com.dynatrace.hash4j.hashing.Hashing;

/**
 * What manager and worker compare at the end, node by node: how many pieces, and the 128-bit sum of their keyed hashes.
 * A sum, because order must not matter and every piece must count as often as it came: with an exclusive or, two
 * rows of one piece would weigh nothing, and losing both would not show. Keyed afresh each cycle, so that no set of ids
 * can be made up beforehand that weighs the same.
 */
public class Tally {

    /** The keys of a cycle's sums. */
    public record Keys(long high, long low) {}

    /** A tally at one moment. */
    public record Sum(long count, long high, long low) {}

    private final Hasher64 highHash;
    private final Hasher64 lowHash;
    private long count;
    private long high;
    private long low;

    public Tally(Keys keys) {
        highHash = Hashing.xxh3_64(keys.high());
        lowHash = Hashing.xxh3_64(keys.low());
    }

    /** Adds fingerprints, two longs each. */
    public final void add(long[] fingerprints, int from, int to) {
        for (int i = from; i < to; i += 2) {
            high = combine(high, highHash.hashLongLongToLong(fingerprints[i], fingerprints[i + 1]));
            low = combine(low, lowHash.hashLongLongToLong(fingerprints[i], fingerprints[i + 1]));
        }
        count += (to - from) / 2;
    }

    /** A test makes it weaker and sees that the weakness is found. */
    long combine(long sum, long hash) {
        return sum + hash;
    }

    public final Sum sum() {
        return new Sum(count, high, low);
    }
}
