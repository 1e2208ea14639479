package io.holdfast.redis.link;

import io.holdfast.HoldfastException;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What Redis answered, read by position. A part of another type than asked for is CORRUPT: then the script on the
 * server is not the one this class was written with.
 */
public final class Reply {

    private final @Nullable Object raw;

    Reply(@Nullable Object raw) {
        this.raw = raw;
    }

    public boolean isNull() {
        return raw == null;
    }

    public long number() {
        return switch (raw) {
            case Long number -> number;
            case byte[] digits -> parse(digits);
            case null, default -> throw unexpected("a number");
        };
    }

    public byte[] bytes() {
        if (raw instanceof byte[] bytes) {
            return bytes;
        }
        throw unexpected("bytes");
    }

    public byte @Nullable [] bytesOrNull() {
        return raw == null ? null : bytes();
    }

    public String text() {
        return raw instanceof String status ? status : new String(bytes(), StandardCharsets.UTF_8);
    }

    public List<Reply> parts() {
        List<Reply> parts = new ArrayList<>();
        for (Object part : list()) {
            parts.add(new Reply(part));
        }
        return parts;
    }

    /** The parts as byte strings, null where Redis answered nil. */
    public List<byte @Nullable []> allBytes() {
        List<byte @Nullable []> all = new ArrayList<>();
        for (Object part : list()) {
            all.add(new Reply(part).bytesOrNull());
        }
        return all;
    }

    public int size() {
        return list().size();
    }

    public Reply part(int index) {
        List<?> list = list();
        if (index >= list.size()) {
            throw unexpected("at least " + (index + 1) + " parts");
        }
        return new Reply(list.get(index));
    }

    public long number(int index) {
        return part(index).number();
    }

    public byte[] bytes(int index) {
        return part(index).bytes();
    }

    public String text(int index) {
        return part(index).text();
    }

    /** What came in pieces: the byte strings of a part that is a list, one after the other. */
    public byte[] joined(int index) {
        ByteArrayOutputStream joined = new ByteArrayOutputStream();
        for (Reply piece : part(index).parts()) {
            joined.writeBytes(piece.bytes());
        }
        return joined.toByteArray();
    }

    private List<?> list() {
        if (raw instanceof List<?> list) {
            return list;
        }
        throw unexpected("a list");
    }

    private long parse(byte[] digits) {
        try {
            return Long.parseLong(new String(digits, StandardCharsets.US_ASCII));
        } catch (NumberFormatException e) {
            throw unexpected("a number");
        }
    }

    private HoldfastException unexpected(String wanted) {
        return new HoldfastException(
                HoldfastException.Category.CORRUPT, "Redis answered " + this + " where " + wanted + " was expected");
    }

    @Override
    public String toString() {
        return switch (raw) {
            case null -> "nil";
            case byte[] bytes -> "'" + new String(bytes, StandardCharsets.ISO_8859_1) + "'";
            case List<?> list -> parts().toString();
            default -> raw.toString();
        };
    }
}
