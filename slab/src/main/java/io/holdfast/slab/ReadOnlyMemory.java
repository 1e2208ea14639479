package io.holdfast.slab;

import java.lang.foreign.MemorySegment;

/** A region that is mapped for reading: a store would end the JVM by a signal, and is refused before. */
final class ReadOnlyMemory extends Memory {

    ReadOnlyMemory(MemorySegment segment) {
        super(segment);
    }

    @Override
    boolean isReadOnly() {
        return true;
    }

    private static UnsupportedOperationException refused() {
        return new UnsupportedOperationException("a region that is only looked at cannot be written");
    }

    @Override
    void word(long at, long value) {
        throw refused();
    }

    @Override
    void release(long at, long value) {
        throw refused();
    }

    @Override
    void opaque(long at, long value) {
        throw refused();
    }

    @Override
    boolean swap(long at, long expected, long value) {
        throw refused();
    }

    @Override
    long add(long at, long delta) {
        throw refused();
    }

    @Override
    void write(long at, byte[] bytes, int from, int length) {
        throw refused();
    }

    @Override
    void move(long from, long to, long length) {
        throw refused();
    }

    @Override
    void zero(long at, long length) {
        throw refused();
    }
}
