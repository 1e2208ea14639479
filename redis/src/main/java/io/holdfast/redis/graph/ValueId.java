package io.holdfast.redis.graph;

import io.holdfast.HoldfastException;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;

/** The id of a value: 16 bytes in order of time, or 32 bytes of its content's SHA-256. Callers never choose one. */
public final class ValueId implements Comparable<ValueId> {

    static final int TIME_ORDERED = 16;
    static final int CONTENT = 32;

    private final byte[] bytes;

    private ValueId(byte[] bytes) {
        this.bytes = bytes;
    }

    /** Takes over the array: the caller must not change it. */
    static ValueId of(byte[] bytes) {
        return new ValueId(bytes);
    }

    static ValueId read(byte[] packed, int at, int width) {
        return new ValueId(Arrays.copyOfRange(packed, at, at + width));
    }

    /** Reads the text form: 32 or 64 hex digits. */
    public static ValueId parse(String text) {
        if (text.length() == 2 * TIME_ORDERED || text.length() == 2 * CONTENT) {
            try {
                return new ValueId(HexFormat.of().parseHex(text));
            } catch (IllegalArgumentException e) {
                // said below
            }
        }
        throw HoldfastException.misuse("'" + text + "' is not a value id", "give 32 or 64 hex digits");
    }

    int width() {
        return bytes.length;
    }

    /** The bytes themselves, not a copy: for reading only. */
    byte[] raw() {
        return bytes;
    }

    /** When it was made, by the clock of who put it; empty for ids that are made from content. */
    public Optional<Instant> madeAt() {
        if (bytes.length != TIME_ORDERED) {
            return Optional.empty();
        }
        return Optional.of(Instant.ofEpochMilli(ByteBuffer.wrap(bytes).getLong() >>> 16));
    }

    public byte[] toBytes() {
        return bytes.clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ValueId that && Arrays.equals(bytes, that.bytes);
    }

    @Override
    public int hashCode() {
        // The last bytes are random in both kinds of id.
        int at = bytes.length - 4;
        return bytes[at] << 24 | (bytes[at + 1] & 0xff) << 16 | (bytes[at + 2] & 0xff) << 8 | (bytes[at + 3] & 0xff);
    }

    @Override
    public int compareTo(ValueId other) {
        return Arrays.compareUnsigned(bytes, other.bytes);
    }

    /** The text form, in hex. */
    @Override
    public String toString() {
        return HexFormat.of().formatHex(bytes);
    }
}
