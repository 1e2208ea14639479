package io.holdfast.redis.aggregate;

import java.util.List;

/**
 * Where merged values go.
 *
 * <p>A value may come again, with the same (key, epoch), the same {@linkplain Flush#digest digest} and a higher token: when the
 * instance died after it was written and before that was noted. Its bytes are the same too, unless an instance with another
 * codec writes it. A sink that writes once per (key, epoch), or that refuses lower tokens, makes it exactly once.
 */
@FunctionalInterface
public interface Sink<T> {

    /**
     * Writes a batch. When it returns, everything in it is written for good, but for what was {@linkplain Flush#refuse
     * refused}. An exception says that nothing is certain, and the whole batch is tried again: of category RETRY, when the
     * sink is back, and that does not count; any other one value by value, and a value that keeps failing becomes a dead
     * letter.
     */
    void flush(List<Flush<T>> batch) throws Exception;
}
