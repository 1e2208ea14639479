package io.holdfast.sweep.filter;

import io.holdfast.HoldfastException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * How large a filter is and how it is cut: {@code blocks} blocks of {@code words} 64-bit words. An id sets one bit in
 * each word of one block.
 *
 * <p>The rate of false positives follows from the load alone. With {@code n} ids a block has received a number of ids
 * that is Poisson distributed around {@code n / blocks}; a foreign id passes a block that received {@code i} ids with
 * probability {@code (1 - (63/64)^i)^words}.
 */
public record FilterGeometry(int words, int blocks) {

    /** Cut for rates of a few per cent and more: half a cache line a block. */
    public static final int COARSE = 4;

    /** Cut for rates below that: one cache line a block. */
    public static final int FINE = 8;

    /** What may be promised, from one in ten thousand to one in two. */
    public static final double RATE_LEAST = 0.0001;

    public static final double RATE_MOST = 0.5;

    private static final int WORDS_TOTAL_MAX = Integer.MAX_VALUE - 64;

    /** Sized a little below the promise, so that chance does not lift a filter above it. */
    private static final double MARGIN = 0.97;

    /** How many ids a block may get depends on these alone, and costs a fifth of a millisecond to find. */
    private record Promise(int words, double rate) {}

    private static final Map<Promise, Double> LOADS = new ConcurrentHashMap<>();

    public FilterGeometry {
        if (words != COARSE && words != FINE) {
            throw HoldfastException.misuse(words + " words a block", "use " + COARSE + " or " + FINE);
        }
        if (blocks < 1 || (long) blocks * words > WORDS_TOTAL_MAX) {
            throw HoldfastException.misuse(
                    blocks + " blocks of " + words + " words", "use 1 to " + WORDS_TOTAL_MAX / words + " blocks");
        }
    }

    /** The smallest geometry that keeps the promised rate for so many ids. */
    public static FilterGeometry forRate(long ids, double rate) {
        if (!(rate >= RATE_LEAST && rate <= RATE_MOST)) {
            throw HoldfastException.misuse(
                    "a false positive rate of " + rate, "promise " + RATE_LEAST + " to " + RATE_MOST);
        }
        if (ids < 0) {
            throw HoldfastException.misuse(ids + " ids", "give 0 or more");
        }
        long coarse = blocksFor(COARSE, ids, rate);
        long fine = blocksFor(FINE, ids, rate);
        int words = coarse * COARSE <= fine * FINE ? COARSE : FINE;
        long blocks = words == COARSE ? coarse : fine;
        if (blocks * words > WORDS_TOTAL_MAX) {
            throw HoldfastException.misuse(
                    "a filter for " + ids + " ids at " + rate + " needs " + ((blocks * words) >>> 27) + " GiB",
                    "split the node, or promise a higher rate");
        }
        return new FilterGeometry(words, Math.toIntExact(blocks));
    }

    private static long blocksFor(int words, long ids, double rate) {
        double exact = ids / LOADS.computeIfAbsent(new Promise(words, rate), FilterGeometry::idsPerBlock);
        // Few blocks are filled less evenly than many: the second term pays for that and is nothing at size.
        return Math.max(1, (long) Math.ceil(exact + Math.sqrt(exact)));
    }

    private static double idsPerBlock(Promise promise) {
        double low = 0.01;
        double high = 64.0 * promise.words();
        for (int i = 0; i < 50; i++) {
            double middle = (low + high) / 2;
            if (rateAtLoad(promise.words(), middle) <= promise.rate() * MARGIN) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private static double rateAtLoad(int words, double idsPerBlock) {
        double probability = Math.exp(-idsPerBlock);
        double sum = 0;
        double unset = 1;
        for (int i = 0; i < 4 * idsPerBlock + 64; i++) {
            sum += probability * Math.pow(1 - unset, words);
            probability *= idsPerBlock / (i + 1);
            unset *= 63.0 / 64;
        }
        return sum;
    }

    /** The rate of false positives to expect with so many different ids in the filter. */
    public double expectedRate(long ids) {
        return rateAtLoad(words, (double) ids / blocks);
    }

    /** Size in memory and on the wire, without the header. */
    public long bytes() {
        return (long) blocks * words * Long.BYTES;
    }

    int wordsTotal() {
        return blocks * words;
    }
}
