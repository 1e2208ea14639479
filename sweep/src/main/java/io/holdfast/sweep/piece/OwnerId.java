package io.holdfast.sweep.piece;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.filter.Fingerprint;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/**
 * The catalogue that a piece belongs to. Several owners may keep pieces on one node; a cycle names its owner and
 * touches nothing of the others.
 */
public record OwnerId(String name) implements Comparable<OwnerId> {

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,64}");

    public OwnerId {
        if (!NAME.matcher(name).matches()) {
            throw HoldfastException.misuse(
                    "owner name '" + name + "' is not 1 to 64 characters of A-Z a-z 0-9 . _ -",
                    "give the catalogue another owner name");
        }
    }

    /** The folder of this owner: letters that no name can steer, so {@code ..} and upper case are nothing special. */
    public String folder() {
        Fingerprint fingerprint = Fingerprint.of(name.getBytes(StandardCharsets.US_ASCII));
        byte[] bytes = ByteBuffer.allocate(16)
                .putLong(fingerprint.high())
                .putLong(fingerprint.low())
                .array();
        return Base32.encode(bytes);
    }

    @Override
    public int compareTo(OwnerId other) {
        return name.compareTo(other.name);
    }

    @Override
    public String toString() {
        return name;
    }
}
