package io.holdfast.bench.slab;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * Keys by Zipf's law with exponent 0.99, the most popular is 0; values of 64 to 4,096 bytes, the same for a key always.
 */
final class Workload {

    private static final double EXPONENT = 0.99;
    private static final int LEAST = 64;
    private static final int MOST = 4_096;

    private final double[] cumulated;
    private final SplittableRandom random;

    Workload(int keys, long seed) {
        cumulated = new double[keys];
        double sum = 0;
        for (int i = 0; i < keys; i++) {
            sum += 1 / Math.pow(i + 1, EXPONENT);
            cumulated[i] = sum;
        }
        random = new SplittableRandom(seed);
    }

    int keys() {
        return cumulated.length;
    }

    int next() {
        int place = Arrays.binarySearch(cumulated, random.nextDouble() * cumulated[cumulated.length - 1]);
        return place < 0 ? Math.min(-place - 1, cumulated.length - 1) : place;
    }

    int[] stream(int length) {
        int[] stream = new int[length];
        Arrays.setAll(stream, i -> next());
        return stream;
    }

    /** So many of the most popular keys, by rank or in random order. */
    int[] mostPopular(int count, boolean byRank) {
        int[] keys = IntStream.range(0, Math.min(count, keys())).toArray();
        for (int i = keys.length - 1; i > 0 && !byRank; i--) {
            int other = random.nextInt(i + 1);
            int key = keys[i];
            keys[i] = keys[other];
            keys[other] = key;
        }
        return keys;
    }

    /** How many of the most popular keys have room for their values in so many bytes. */
    static int keysIn(long bytes) {
        int key = 0;
        for (long left = bytes - MOST; left > 0; left -= lengthOf(key++) + Long.BYTES) {}
        return key;
    }

    static int lengthOf(long key) {
        long mixed = key * 0x9e3779b97f4a7c15L;
        mixed = (mixed ^ mixed >>> 32) * 0xd6e8feb86659fd93L;
        return LEAST + (int) ((mixed >>> 33) % (MOST - LEAST + 1));
    }

    /** One value of each length, so that no allocation is measured with the puts. */
    static byte[][] values() {
        byte[][] values = new byte[MOST + 1][];
        for (int length = LEAST; length <= MOST; length++) {
            values[length] = new byte[length];
            Arrays.fill(values[length], (byte) length);
        }
        return values;
    }
}
