package io.holdfast.slab;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * The bytes of a region as 64-bit words at byte offsets: a mapped file in production, an array in tests that want every
 * step under control. Ordering is named at each use, since other processes look at the same words.
 */
class Memory {

    private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();
    private static final VarHandle KEY_WORD =
            java.lang.invoke.MethodHandles.byteArrayViewVarHandle(long[].class, java.nio.ByteOrder.nativeOrder());

    final MemorySegment segment;
    final long size;

    Memory(MemorySegment segment) {
        this.segment = segment;
        this.size = segment.byteSize();
    }

    /** Plain: for the holder of the region's lock, and for readers who check a sequence afterwards. */
    long word(long at) {
        return (long) WORD.get(segment, at);
    }

    void word(long at, long value) {
        WORD.set(segment, at, value);
    }

    long acquire(long at) {
        return (long) WORD.getAcquire(segment, at);
    }

    void release(long at, long value) {
        WORD.setRelease(segment, at, value);
    }

    long opaque(long at) {
        return (long) WORD.getOpaque(segment, at);
    }

    boolean swap(long at, long expected, long value) {
        return WORD.compareAndSet(segment, at, expected, value);
    }

    long add(long at, long delta) {
        return (long) WORD.getAndAdd(segment, at, delta);
    }

    void opaque(long at, long value) {
        WORD.setOpaque(segment, at, value);
    }

    long unaligned(long at) {
        return segment.get(ValueLayout.JAVA_LONG_UNALIGNED, at);
    }

    int unalignedInt(long at) {
        return segment.get(ValueLayout.JAVA_INT_UNALIGNED, at);
    }

    int unsignedByte(long at) {
        return segment.get(ValueLayout.JAVA_BYTE, at) & 0xff;
    }

    void read(long at, byte[] into, int from, int length) {
        MemorySegment.copy(segment, ValueLayout.JAVA_BYTE, at, into, from, length);
    }

    void write(long at, byte[] bytes, int from, int length) {
        MemorySegment.copy(bytes, from, segment, ValueLayout.JAVA_BYTE, at, length);
    }

    void move(long from, long to, long length) {
        MemorySegment.copy(segment, from, segment, to, length);
    }

    void zero(long at, long length) {
        segment.asSlice(at, length).fill((byte) 0);
    }

    /** Whether the bytes at the offset are the key; eight at a time, the tail one by one. */
    boolean matches(long at, byte[] key) {
        int whole = key.length & ~7;
        int i = 0;
        for (; i < whole; i += 8) {
            if (segment.get(ValueLayout.JAVA_LONG_UNALIGNED, at + i) != (long) KEY_WORD.get(key, i)) {
                return false;
            }
        }
        for (; i < key.length; i++) {
            if (segment.get(ValueLayout.JAVA_BYTE, at + i) != key[i]) {
                return false;
            }
        }
        return true;
    }
}
