package io.holdfast.slab;

import java.nio.ByteBuffer;
import java.util.random.RandomGenerator;

/** Values that can be told from any other bytes: they name their key, and every byte follows from a number in them. */
final class Cargo {

    private static final int HEADER = 16;

    private Cargo() {}

    static byte[] key(int number) {
        return ByteBuffer.allocate(4 + number % 5).putInt(number).array();
    }

    static byte[] value(int key, RandomGenerator random, int lengthMost) {
        return value(key, random.nextLong(), HEADER + random.nextInt(Math.max(1, lengthMost - HEADER)));
    }

    static byte[] value(int key, long nonce, int length) {
        ByteBuffer buffer =
                ByteBuffer.allocate(length).putInt(key).putInt(length).putLong(nonce);
        long state = nonce;
        while (buffer.hasRemaining()) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            buffer.put((byte) (state >>> 56));
        }
        return buffer.array();
    }

    /** Whether the bytes are a whole value that was made for the key. */
    static boolean isOf(int key, byte[] bytes) {
        if (bytes.length < HEADER) {
            return false;
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return buffer.getInt() == key
                && buffer.getInt() == bytes.length
                && java.util.Arrays.equals(bytes, value(key, buffer.getLong(), bytes.length));
    }
}
