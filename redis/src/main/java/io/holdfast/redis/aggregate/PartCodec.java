package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import io.holdfast.redis.aggregate.Wire.Reader;
import io.holdfast.redis.aggregate.Wire.Writer;
import java.util.ArrayList;
import java.util.List;

/**
 * A part as it is stored, and all parts of an epoch as they are packed.
 *
 * <pre>
 *   part     version 1, number of updates, 1 and first and length of the event times or 0, the value by the user's codec
 *   packed   16 characters that name the instance, LENGTH in digits, a colon, the part; one after the other
 * </pre>
 */
final class PartCodec<T> {

    private static final int VERSION = 1;
    private static final int NAME_LENGTH = 16;

    record Part<T>(T value, Tally tally) {}

    /** A part that is still packed. */
    record Named(String name, byte[] bytes) {}

    private final Codec<T> codec;

    PartCodec(Codec<T> codec) {
        this.codec = codec;
    }

    byte[] encode(T value, Tally tally) {
        Writer out = new Writer();
        out.one(VERSION);
        out.unsigned(tally.updates());
        if (tally.first().isPresent()) {
            out.one(1);
            out.signed(tally.firstMillis());
            out.unsigned(tally.lastMillis() - tally.firstMillis());
        } else {
            out.one(0);
        }
        out.raw(codec.encode(value));
        return out.done();
    }

    byte[] encodeValue(T value) {
        return codec.encode(value);
    }

    Part<T> decode(byte[] bytes) {
        Reader in = new Reader(bytes);
        Tally tally = tally(in);
        T value = codec.decode(in.rest());
        if (value == null) {
            throw Wire.corrupt("the codec answered null");
        }
        return new Part<>(value, tally);
    }

    /** What a part says of itself, without its value. */
    static Tally tally(Reader in) {
        int version = in.one();
        if (version != VERSION) {
            throw Wire.corrupt("a part of the unknown version " + version);
        }
        long updates = in.unsigned();
        if (in.one() == 0) {
            return new Tally(updates, Long.MAX_VALUE, Long.MIN_VALUE);
        }
        long first = in.signed();
        return new Tally(updates, first, first + in.unsigned());
    }

    static List<Named> unpack(byte[] packed) {
        List<Named> parts = new ArrayList<>();
        int at = 0;
        while (at < packed.length) {
            int colon = at + NAME_LENGTH;
            int length = 0;
            while (colon < packed.length && packed[colon] != ':') {
                length = length * 10 + packed[colon++] - '0';
            }
            if (length < 0 || colon + 1 + (long) length > packed.length) {
                throw HoldfastException.misuse("the parts of an epoch cannot be taken apart", "report it");
            }
            String name = new String(packed, at, NAME_LENGTH, java.nio.charset.StandardCharsets.ISO_8859_1);
            parts.add(new Named(name, java.util.Arrays.copyOfRange(packed, colon + 1, colon + 1 + length)));
            at = colon + 1 + length;
        }
        return parts;
    }
}
