package io.holdfast.slab;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;

/**
 * Two keys of sixteen bytes that have one hash: the first word brings the state of the hash to some number, the second
 * is chosen to bring two such states together again. Needs the seed, which nobody outside knows.
 */
final class Collisions {

    private Collisions() {}

    static byte[] key(long first, long second) {
        return ByteBuffer.allocate(16)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(first)
                .putLong(second)
                .array();
    }

    private static final Map<Long, Long> SECONDS = new HashMap<>();

    static byte[] key(long first) {
        return key(first, SECONDS.get(first));
    }

    /** First words of two keys. */
    static long[] find(long seed) {
        long state = seed ^ 17 * 0x9e3779b97f4a7c15L;
        long one = after(state, 1);
        long two = after(state, 2);
        SECONDS.put(1L, one);
        SECONDS.put(2L, two);
        return new long[] {1, 2};
    }

    /** What the first word makes of the state; as second word it makes the next step the same for all keys. */
    private static long after(long state, long word) {
        long a = state ^ word;
        long b = 0x9e3779b97f4a7c15L;
        return a * b ^ Math.unsignedMultiplyHigh(a, b);
    }
}
