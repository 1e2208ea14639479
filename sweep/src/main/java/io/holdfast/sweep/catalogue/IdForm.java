package io.holdfast.sweep.catalogue;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.piece.Base32;
import io.holdfast.sweep.piece.PieceId;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * How a catalogue writes ids. Each form has exactly one text for an id: an alias (upper case, braces, missing zeros) is
 * refused, since a piece that is known under another name looks like garbage under its own.
 */
public enum IdForm {
    /** Bytes as they are. */
    BYTES,
    /** Lower-case hexadecimal digits. */
    HEX,
    /** Lower-case base32 without padding: the names on a storage node. */
    BASE32,
    /** A UUID in its lower-case form with dashes: 16 bytes. */
    UUID,
    /** The text itself, in UTF-8. */
    TEXT;

    /** The id that a text means; CORRUPT if it is not exactly one. */
    public byte[] decode(String text) {
        byte @Nullable [] id = switch (this) {
            case HEX -> hex(text);
            case BASE32 -> Base32.decode(text);
            case UUID -> uuid(text);
            case BYTES, TEXT -> text.getBytes(StandardCharsets.UTF_8);
        };
        if (id == null || id.length < 1 || id.length > Fingerprint.ID_BYTES_MAX) {
            throw new HoldfastException(
                    Category.CORRUPT,
                    "the catalogue has '" + text + "', which is not a piece id as " + name(),
                    "name the form that the catalogue really uses; nothing was trashed",
                    null);
        }
        return id;
    }

    /** Whether the id has a text in this form, and exactly one: what has none is in no catalogue that writes ids so. */
    boolean has(byte[] id) {
        return switch (this) {
            case BYTES, HEX, BASE32 -> true;
            case UUID -> id.length == 16;
            case TEXT -> encode(id).indexOf(0) < 0 && Arrays.equals(decode(encode(id)), id);
        };
    }

    public String encode(byte[] id) {
        return switch (this) {
            case HEX -> HexFormat.of().formatHex(id);
            case BASE32 -> PieceId.of(id).toString();
            case UUID -> uuid(id).toString();
            case BYTES, TEXT -> new String(id, StandardCharsets.UTF_8);
        };
    }

    private static byte @Nullable [] hex(String text) {
        if (text.length() % 2 != 0) {
            return null;
        }
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
            if (value < 0) {
                return null;
            }
            bytes[i / 2] = (byte) (bytes[i / 2] << 4 | value);
        }
        return bytes;
    }

    private static byte @Nullable [] uuid(String text) {
        try {
            UUID uuid = java.util.UUID.fromString(text);
            return uuid.toString().equals(text)
                    ? ByteBuffer.allocate(16)
                            .putLong(uuid.getMostSignificantBits())
                            .putLong(uuid.getLeastSignificantBits())
                            .array()
                    : null;
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    private static UUID uuid(byte[] id) {
        if (id.length != 16) {
            throw HoldfastException.misuse("an id of " + id.length + " bytes is not a UUID", "use 16 bytes");
        }
        ByteBuffer bytes = ByteBuffer.wrap(id);
        return new UUID(bytes.getLong(), bytes.getLong());
    }
}
