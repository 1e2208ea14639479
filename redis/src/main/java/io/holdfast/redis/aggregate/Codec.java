package io.holdfast.redis.aggregate;

/**
 * How values become bytes. Equal values must give equal bytes: the sink recognises by them what it has already written.
 * {@link RecordCodec} does it for records and common types.
 */
public interface Codec<T> {

    byte[] encode(T value);

    /** Whatever it throws says that the bytes cannot be read: the aggregate becomes a dead letter, with all its parts. */
    T decode(byte[] bytes);
}
