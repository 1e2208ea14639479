package io.holdfast.redis.graph;

import io.holdfast.Time;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.List;
import java.util.Locale;

/** How the values of a graph get their ids. */
public enum Addressing {
    /** 16 bytes, in order of time: the cheapest, and every put makes a new value. */
    TIME(ValueId.TIME_ORDERED),
    /** 32 bytes, the SHA-256 of value and children: equal subtrees are stored once. */
    CONTENT(ValueId.CONTENT);

    private static final SecureRandom RANDOM = new SecureRandom();
    /** Tells this hash from any other use of SHA-256 over the same bytes. */
    private static final byte VERSION = 1;

    private final int width;

    Addressing(int width) {
        this.width = width;
    }

    int width() {
        return width;
    }

    String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * 48 bits of milliseconds, 8 for the shelf, then 72 random bits. The clock decides about nothing but the order of ids; that
     * two are equal is as likely as guessing 72 bits within a millisecond.
     *
     * @param isLeaf whether the value is small and has no children
     */
    static ValueId timeOrdered(Time time, int shelf, boolean isLeaf) {
        byte[] id = new byte[ValueId.TIME_ORDERED];
        RANDOM.nextBytes(id);
        long millis = time.millis();
        for (int i = 0; i < 6; i++) {
            id[i] = (byte) (millis >>> (8 * (5 - i)));
        }
        id[Shelves.AT] = (byte) (isLeaf ? shelf + Shelves.LEAF : shelf);
        return ValueId.of(id);
    }

    static ValueId ofContent(byte[] value, List<ValueId> children) {
        MessageDigest sha256;
        try {
            sha256 = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
        sha256.update(VERSION);
        sha256.update(ByteBuffer.allocate(4).putInt(children.size()).flip());
        for (ValueId child : children) {
            sha256.update(child.raw());
        }
        return ValueId.of(sha256.digest(value));
    }
}
