package io.holdfast.sweep.piece;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.filter.Fingerprint;
import java.util.Arrays;
import java.util.HexFormat;

/** The id of a piece: 1 to {@value Fingerprint#ID_BYTES_MAX} bytes, compared byte by byte. */
public final class PieceId implements Comparable<PieceId> {

    private final byte[] bytes;

    private PieceId(byte[] bytes) {
        this.bytes = bytes;
    }

    public static PieceId of(byte[] bytes) {
        if (bytes.length < 1 || bytes.length > Fingerprint.ID_BYTES_MAX) {
            throw HoldfastException.misuse(
                    "a piece id of " + bytes.length + " bytes",
                    "use ids of 1 to " + Fingerprint.ID_BYTES_MAX + " bytes");
        }
        return new PieceId(bytes.clone());
    }

    /** Takes the array as it is: for callers that made it themselves and let go of it. */
    public static PieceId wrap(byte[] bytes) {
        return new PieceId(bytes);
    }

    /** Reads an id of a known length from its name (base32) or from hexadecimal digits. */
    public static PieceId parse(String text, int length) {
        byte[] bytes = Base32.decode("", text, length);
        if (bytes == null && text.length() == 2 * length) {
            try {
                bytes = HexFormat.of().parseHex(text);
            } catch (IllegalArgumentException e) {
                // said below, as for every other text
            }
        }
        if (bytes == null) {
            throw HoldfastException.misuse(
                    "'" + text + "' is not a piece id of " + length + " bytes",
                    "write " + Base32.length(length) + " letters of base32 (a-z 2-7) or " + 2 * length
                            + " hexadecimal digits");
        }
        return new PieceId(bytes);
    }

    public byte[] bytes() {
        return bytes.clone();
    }

    public int length() {
        return bytes.length;
    }

    public Fingerprint fingerprint() {
        return Fingerprint.of(bytes);
    }

    /** The name: base32 in lower case. */
    @Override
    public String toString() {
        return Base32.encode(bytes);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PieceId that && Arrays.equals(bytes, that.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    @Override
    public int compareTo(PieceId other) {
        return Arrays.compareUnsigned(bytes, other.bytes);
    }
}
