package io.holdfast.redis.aggregate;

import io.holdfast.redis.aggregate.Wire.Reader;
import io.holdfast.redis.aggregate.Wire.Writer;

/**
 * The built-in codec, for records and common types: numbers, text, enums, times, {@code UUID}, {@code byte[]}, {@code
 * Optional}, and lists, sets and maps of these.
 *
 * <p>Instances of different versions may work on the same aggregates: a field that was added has its default when an older
 * part is read (0, false, null, an empty collection), one that was removed is passed over. Nothing that is zero or empty
 * takes room.
 */
public final class RecordCodec<T> implements Codec<T> {

    private static final int VERSION = 1;

    private final Class<T> type;
    private final Shape shape;

    private RecordCodec(Class<T> type, Shape shape) {
        this.type = type;
        this.shape = shape;
    }

    /** Refuses a type with something in it that the codec does not know. */
    public static <T> RecordCodec<T> of(Class<T> type) {
        return new RecordCodec<>(type, Shape.of(type, "the type"));
    }

    @Override
    public byte[] encode(T value) {
        Writer out = new Writer();
        out.one(VERSION << 3 | shape.form());
        shape.write(out, value);
        return out.done();
    }

    @Override
    public T decode(byte[] bytes) {
        Reader in = new Reader(bytes);
        int head = in.one();
        if (head != (VERSION << 3 | shape.form())) {
            throw Wire.corrupt("the bytes begin with " + head + ", which is no " + type.getSimpleName()
                    + " of a version that this codec knows");
        }
        T value = type.cast(shape.read(in));
        if (in.hasMore()) {
            throw Wire.corrupt("more bytes than a " + type.getSimpleName() + " has");
        }
        return value;
    }
}
