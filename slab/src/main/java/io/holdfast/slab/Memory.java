package io.holdfast.slab;

import io.holdfast.HoldfastException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * The bytes of a region as 64-bit words at byte offsets. Ordering is named at each use, since other processes look at
 * the same words.
 *
 * <p>A segment checks at each access what never changes here: its kind, its alignment, whether its arena is still open.
 * That cost a quarter of a put. So words are reached by their address through one segment that covers everything, which
 * the compiler knows to be constant, and the one check that damage makes necessary is made here: that the offset lies in
 * the region. Nothing else may be reached. The price is that the mapping must outlive every access, which
 * {@link SlabRegion} sees to. Tests put arrays in the place of the mapped file by overriding every method.
 */
class Memory {

    private static final MemorySegment EVERYTHING = everything();
    private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();
    private static final ValueLayout.OfLong PLAIN = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final int LINE_BYTES = 64;
    private static final VarHandle KEY_WORD =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

    /** Kept so that what is mapped stays mapped. */
    @SuppressWarnings({"unused", "UnusedVariable"})
    private final MemorySegment segment;

    final long size;
    private final long base;
    private final long lastWord;

    private static MemorySegment everything() {
        try {
            return MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
        } catch (IllegalCallerException e) {
            return MemorySegment.NULL; // refused when it is used, with a reason
        }
    }

    Memory(MemorySegment segment) {
        if (EVERYTHING.byteSize() == 0) {
            throw HoldfastException.misuse(
                    "this JVM denies the slab cache access to native memory",
                    "start it with --enable-native-access=ALL-UNNAMED, or with the name of the cache's module");
        }
        this.segment = segment;
        this.size = segment.byteSize();
        this.base = segment.address();
        this.lastWord = size - Long.BYTES;
        if (!segment.isNative() || lastWord < 0) {
            throw new IllegalArgumentException("not native memory: " + segment);
        }
    }

    /** For memory of another kind, which overrides all that reads or writes. */
    Memory(long size) {
        this.segment = MemorySegment.NULL;
        this.size = size;
        this.base = 0;
        this.lastWord = -1;
    }

    boolean isReadOnly() {
        return false;
    }

    /** Where the word at the offset is; the whole word lies in the region. */
    private long address(long at) {
        if (at < 0 || at > lastWord) {
            throw outside(at, Long.BYTES);
        }
        return base + at;
    }

    /** Where so many bytes from the offset begin; all of them lie in the region. */
    final long address(long at, long length) {
        if ((at | length) < 0 || at > size - length) {
            throw outside(at, length);
        }
        return base + at;
    }

    private IndexOutOfBoundsException outside(long at, long length) {
        return new IndexOutOfBoundsException(length + " bytes at offset " + at + " of a region of " + size);
    }

    /** Plain: for the holder of the region's lock, and for readers who check a sequence afterwards. */
    long word(long at) {
        return EVERYTHING.get(PLAIN, address(at));
    }

    void word(long at, long value) {
        EVERYTHING.set(PLAIN, address(at), value);
    }

    long acquire(long at) {
        return (long) WORD.getAcquire(EVERYTHING, address(at));
    }

    void release(long at, long value) {
        WORD.setRelease(EVERYTHING, address(at), value);
    }

    long opaque(long at) {
        return (long) WORD.getOpaque(EVERYTHING, address(at));
    }

    void opaque(long at, long value) {
        WORD.setOpaque(EVERYTHING, address(at), value);
    }

    boolean swap(long at, long expected, long value) {
        return WORD.compareAndSet(EVERYTHING, address(at), expected, value);
    }

    long add(long at, long delta) {
        return (long) WORD.getAndAdd(EVERYTHING, address(at), delta);
    }

    /** Reads a word of each cache line, so that all of them are on their way; their sum, which tells nothing. */
    long touch(long at, long length) {
        long next = address(at, length);
        int lines = (int) (length + LINE_BYTES - Long.BYTES) / LINE_BYTES;
        long sum = 0;
        // Four at once: what is not a load takes the place of work that could be done while the lines come.
        for (; lines >= 4; lines -= 4, next += 4 * LINE_BYTES) {
            sum += EVERYTHING.get(PLAIN, next)
                    + EVERYTHING.get(PLAIN, next + LINE_BYTES)
                    + EVERYTHING.get(PLAIN, next + 2 * LINE_BYTES)
                    + EVERYTHING.get(PLAIN, next + 3 * LINE_BYTES);
        }
        for (; lines > 0; lines--, next += LINE_BYTES) {
            sum += EVERYTHING.get(PLAIN, next);
        }
        return sum;
    }

    /** Eight bytes wherever they begin. */
    long unaligned(long at) {
        return EVERYTHING.get(PLAIN, address(at));
    }

    int unalignedInt(long at) {
        return EVERYTHING.get(ValueLayout.JAVA_INT_UNALIGNED, address(at, Integer.BYTES));
    }

    int unsignedByte(long at) {
        return EVERYTHING.get(ValueLayout.JAVA_BYTE, address(at, 1)) & 0xff;
    }

    void read(long at, byte[] into, int from, int length) {
        MemorySegment.copy(EVERYTHING, ValueLayout.JAVA_BYTE, address(at, length), into, from, length);
    }

    void write(long at, byte[] bytes, int from, int length) {
        MemorySegment.copy(bytes, from, EVERYTHING, ValueLayout.JAVA_BYTE, address(at, length), length);
    }

    void move(long from, long to, long length) {
        MemorySegment.copy(EVERYTHING, address(from, length), EVERYTHING, address(to, length), length);
    }

    void zero(long at, long length) {
        EVERYTHING.asSlice(address(at, length), length).fill((byte) 0);
    }

    /** Whether the bytes at the offset are the key; eight at a time, the tail one by one. */
    boolean matches(long at, byte[] key) {
        int whole = key.length & ~7;
        int i = 0;
        for (; i < whole; i += 8) {
            if (unaligned(at + i) != (long) KEY_WORD.get(key, i)) {
                return false;
            }
        }
        for (; i < key.length; i++) {
            if (unsignedByte(at + i) != (key[i] & 0xff)) {
                return false;
            }
        }
        return true;
    }
}
