package io.holdfast.redis.graph;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * A set of ids in little memory: each gets a number, in the order of arrival, which never changes; what is known of it is
 * kept in columns beside. For walks over graphs of ten million values, where an object for each would be too much.
 *
 * <pre>
 *   index    int[]      hash -> number + 1, open addressing, 3/8 to 3/4 full
 *   ids      long[]...  number -> id as 2 or 4 longs, in blocks, so that growing copies nothing
 *   columns  int[]..., byte[]...   number -> value, in blocks
 * </pre>
 *
 * With 16-byte ids that is 16 bytes and at most 11 of index a value, for a moment 16 while the index grows; a column adds
 * its width.
 */
final class IdTable {

    static final int NONE = -1;

    private static final int BLOCK_BITS = 14;
    private static final int BLOCK = 1 << BLOCK_BITS;
    private static final int LEAST_INDEX = 1 << 10;
    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    private final int longs;
    private final Ids ids;
    private int[] index;

    /**
     * @param width the bytes of an id
     * @param expected how many there will be, about
     */
    IdTable(int width, long expected) {
        this.longs = width / Long.BYTES;
        this.ids = new Ids(width);
        int slots = LEAST_INDEX;
        while (slots - (slots >> 2) < expected && slots < 1 << 30) {
            slots <<= 1;
        }
        this.index = new int[slots];
    }

    int size() {
        return ids.size;
    }

    /** The memory it takes, in bytes. */
    long bytes() {
        return ids.bytes() + (long) index.length * Integer.BYTES;
    }

    /** The number of the id that begins at {@code at}, or {@link #NONE}. */
    int find(byte[] bytes, int at) {
        return index[slot(bytes, at)] - 1;
    }

    /** The number of the id that begins at {@code at}; a new one if it is not there yet. */
    int add(byte[] bytes, int at) {
        int slot = slot(bytes, at);
        if (index[slot] != 0) {
            return index[slot] - 1;
        }
        if (ids.size == index.length - (index.length >> 2)) {
            grow();
            slot = slot(bytes, at);
        }
        int number = ids.append(bytes, at);
        index[slot] = number + 1;
        return number;
    }

    int add(ValueId id) {
        return add(id.raw(), 0);
    }

    int find(ValueId id) {
        return find(id.raw(), 0);
    }

    ValueId id(int number) {
        return ids.get(number);
    }

    byte[] bytes(int number) {
        return ids.bytes(number);
    }

    /** The slot that has the id, or the free one where it belongs. */
    private int slot(byte[] bytes, int at) {
        int mask = index.length - 1;
        long hash = 0;
        for (int i = 0; i < longs; i++) {
            hash = mix(hash ^ word(bytes, at, i));
        }
        int slot = (int) hash & mask;
        while (index[slot] != 0 && !ids.isAt(index[slot] - 1, bytes, at)) {
            slot = slot + 1 & mask;
        }
        return slot;
    }

    private void grow() {
        int[] next = new int[index.length * 2];
        int mask = next.length - 1;
        for (int number = 0; number < ids.size; number++) {
            long hash = 0;
            for (int i = 0; i < longs; i++) {
                hash = mix(hash ^ ids.word(number, i));
            }
            int slot = (int) hash & mask;
            while (next[slot] != 0) {
                slot = slot + 1 & mask;
            }
            next[slot] = number + 1;
        }
        index = next;
    }

    private static long word(byte[] bytes, int at, int i) {
        return (long) LONGS.get(bytes, at + i * Long.BYTES);
    }

    /** Spreads the bits of a word over all others (the finisher of SplitMix64). */
    private static long mix(long word) {
        long mixed = (word ^ word >>> 30) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
        return mixed ^ mixed >>> 31;
    }

    /** Ids by number, which may repeat. */
    static final class Ids {

        private final int width;
        private final int longs;
        private final List<long[]> blocks = new ArrayList<>();
        private int size;

        Ids(int width) {
            this.width = width;
            this.longs = width / Long.BYTES;
        }

        int size() {
            return size;
        }

        long bytes() {
            return (long) blocks.size() * BLOCK * width;
        }

        int append(byte[] bytes, int at) {
            int number = size++;
            if (number >> BLOCK_BITS == blocks.size()) {
                blocks.add(new long[BLOCK * longs]);
            }
            long[] block = blocks.get(number >> BLOCK_BITS);
            for (int i = 0; i < longs; i++) {
                block[(number & BLOCK - 1) * longs + i] = IdTable.word(bytes, at, i);
            }
            return number;
        }

        ValueId get(int number) {
            return ValueId.of(bytes(number));
        }

        byte[] bytes(int number) {
            byte[] bytes = new byte[width];
            for (int i = 0; i < longs; i++) {
                LONGS.set(bytes, i * Long.BYTES, word(number, i));
            }
            return bytes;
        }

        private long word(int number, int i) {
            return blocks.get(number >> BLOCK_BITS)[(number & BLOCK - 1) * longs + i];
        }

        private boolean isAt(int number, byte[] bytes, int at) {
            for (int i = longs - 1; i >= 0; i--) {
                if (word(number, i) != IdTable.word(bytes, at, i)) {
                    return false;
                }
            }
            return true;
        }
    }

    /** A number for each id; 0 until set. */
    static final class Ints {

        private final List<int[]> blocks = new ArrayList<>();

        long bytes() {
            return (long) blocks.size() * BLOCK * Integer.BYTES;
        }

        int get(int number) {
            int block = number >> BLOCK_BITS;
            return block < blocks.size() ? blocks.get(block)[number & BLOCK - 1] : 0;
        }

        void set(int number, int value) {
            while (number >> BLOCK_BITS >= blocks.size()) {
                blocks.add(new int[BLOCK]);
            }
            blocks.get(number >> BLOCK_BITS)[number & BLOCK - 1] = value;
        }

        /** Adds, and stays at the largest int where it would pass it. */
        void add(int number, long more) {
            set(number, (int) Math.min(Integer.MAX_VALUE, get(number) + more));
        }
    }

    /** A few flags for each id. */
    static final class Flags {

        private final List<byte[]> blocks = new ArrayList<>();

        long bytes() {
            return (long) blocks.size() * BLOCK;
        }

        boolean has(int number, int flag) {
            int block = number >> BLOCK_BITS;
            return block < blocks.size() && (blocks.get(block)[number & BLOCK - 1] & flag) != 0;
        }

        /** Sets the flag; whether it was not set before. */
        boolean set(int number, int flag) {
            while (number >> BLOCK_BITS >= blocks.size()) {
                blocks.add(new byte[BLOCK]);
            }
            byte[] block = blocks.get(number >> BLOCK_BITS);
            byte before = block[number & BLOCK - 1];
            block[number & BLOCK - 1] = (byte) (before | flag);
            return (before & flag) == 0;
        }
    }

    /** A stack of numbers. */
    static final class Stack {

        private final Ints numbers = new Ints();
        private int height;

        void push(int number) {
            numbers.set(height++, number);
        }

        int pop() {
            return numbers.get(--height);
        }

        boolean isEmpty() {
            return height == 0;
        }
    }
}
