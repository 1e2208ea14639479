package io.holdfast.sweep.retain;

import io.holdfast.HoldfastException;
import java.util.Arrays;
import java.util.HexFormat;

/** Exactly the bytes that were signed, and the Ed25519 signature over them. Nothing in it is believed before it is checked. */
public record Signed(byte[] text, byte[] signature) {

    /** The longest text that is looked at. */
    public static final int TEXT_MAX = 64 * 1024;

    public static final int SIGNATURE_BYTES = 64;

    public Signed {
        if (text.length == 0 || text.length > TEXT_MAX || signature.length != SIGNATURE_BYTES) {
            throw HoldfastException.misuse(
                    "a signed text of " + text.length + " bytes with a signature of " + signature.length,
                    "send 1 to " + TEXT_MAX + " bytes and an Ed25519 signature");
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Signed that
                && Arrays.equals(text, that.text)
                && Arrays.equals(signature, that.signature);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(signature);
    }

    @Override
    public String toString() {
        return "Signed[" + text.length + " bytes, " + HexFormat.of().formatHex(signature, 0, 4) + "…]";
    }
}
