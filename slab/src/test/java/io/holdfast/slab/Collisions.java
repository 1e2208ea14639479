package io.holdfast.slab;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Keys of sixteen bytes that have one hash: the first word brings the state of the hash to some number, and the second
 * is that number, so that the next step starts from 0 for all of them. Needs the seed, which nobody outside knows.
 */
final class Collisions {

    private static final long MIX = 0x9e3779b97f4a7c15L;

    private Collisions() {}

    static byte[] key(long seed, long first) {
        long lengthAndOne = Long.BYTES * 2 + 1L;
        long state = seed ^ lengthAndOne * MIX ^ first;
        long second = state * MIX ^ Math.unsignedMultiplyHigh(state, MIX);
        return ByteBuffer.allocate(16)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(first)
                .putLong(second)
                .array();
    }
}
