package io.holdfast.slab;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A region in an array, so that a test can copy it, cut off its stores, or follow each of its accesses. Few bytes are
 * moved by words, for those who follow; many at once.
 */
class HeapMemory extends Memory {

    private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int FEW = 64;

    final long[] words;

    HeapMemory(SlabLayout layout) {
        super(layout.size);
        words = new long[(int) (layout.size / 8)];
    }

    /** The index of an aligned word. */
    private static int index(long at) {
        if ((at & 7) != 0) {
            throw new IllegalArgumentException("a word at offset " + at);
        }
        return (int) (at >>> 3);
    }

    private MemorySegment bytes() {
        return MemorySegment.ofArray(words);
    }

    @Override
    long word(long at) {
        return words[index(at)];
    }

    @Override
    void word(long at, long value) {
        words[index(at)] = value;
    }

    @Override
    long acquire(long at) {
        return (long) WORD.getAcquire(words, index(at));
    }

    @Override
    void release(long at, long value) {
        WORD.setRelease(words, index(at), value);
    }

    @Override
    long opaque(long at) {
        return (long) WORD.getOpaque(words, index(at));
    }

    @Override
    void opaque(long at, long value) {
        WORD.setOpaque(words, index(at), value);
    }

    @Override
    boolean swap(long at, long expected, long value) {
        return WORD.compareAndSet(words, index(at), expected, value);
    }

    @Override
    long add(long at, long delta) {
        return (long) WORD.getAndAdd(words, index(at), delta);
    }

    @Override
    long touch(long at, long length) {
        return 0;
    }

    @Override
    long unaligned(long at) {
        int shift = (int) (at & 7) * 8;
        int index = (int) (at >>> 3);
        return shift == 0 ? words[index] : (words[index] >>> shift) | (words[index + 1] << (64 - shift));
    }

    @Override
    int unalignedInt(long at) {
        int value = 0;
        for (int i = 3; i >= 0; i--) {
            value = value << 8 | unsignedByte(at + i);
        }
        return value;
    }

    @Override
    int unsignedByte(long at) {
        return (int) (words[(int) (at >>> 3)] >>> ((at & 7) * 8)) & 0xff;
    }

    private void setByte(long at, byte value) {
        int shift = (int) (at & 7) * 8;
        int index = (int) (at >>> 3);
        words[index] = (words[index] & ~(0xffL << shift)) | ((value & 0xffL) << shift);
    }

    @Override
    void read(long at, byte[] into, int from, int length) {
        if (length > FEW) {
            MemorySegment.copy(bytes(), ValueLayout.JAVA_BYTE, at, into, from, length);
            return;
        }
        for (int i = 0; i < length; i++) {
            into[from + i] = (byte) unsignedByte(at + i);
        }
    }

    @Override
    void write(long at, byte[] bytes, int from, int length) {
        if (length > FEW) {
            MemorySegment.copy(bytes, from, bytes(), ValueLayout.JAVA_BYTE, at, length);
            return;
        }
        for (int i = 0; i < length; i++) {
            setByte(at + i, bytes[from + i]);
        }
    }

    @Override
    void move(long from, long to, long length) {
        MemorySegment.copy(bytes(), from, bytes(), to, length);
    }

    @Override
    void zero(long at, long length) {
        bytes().asSlice(at, length).fill((byte) 0);
    }
}
