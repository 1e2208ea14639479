package io.holdfast.slab;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;

/**
 * How keys or values of a type are written as bytes. Equal keys must have equal bytes, in every process and version of the
 * program that shares the cache.
 */
public interface SlabCodec<T> {

    byte[] encode(T value);

    T decode(byte[] bytes);

    static <T> SlabCodec<T> of(Function<T, byte[]> encoder, Function<byte[], T> decoder) {
        return new SlabCodec<>() {
            @Override
            public byte[] encode(T value) {
                return encoder.apply(value);
            }

            @Override
            public T decode(byte[] bytes) {
                return decoder.apply(bytes);
            }
        };
    }

    /** Text as UTF-8. */
    static SlabCodec<String> text() {
        return of(text -> text.getBytes(StandardCharsets.UTF_8), bytes -> new String(bytes, StandardCharsets.UTF_8));
    }

    /** Eight bytes, the highest first. */
    static SlabCodec<Long> number() {
        return of(
                number -> ByteBuffer.allocate(Long.BYTES).putLong(number).array(),
                bytes -> ByteBuffer.wrap(bytes).getLong());
    }

    /** The bytes themselves. */
    static SlabCodec<byte[]> bytes() {
        return of(bytes -> bytes, bytes -> bytes);
    }
}
