package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** The words at the start of a chunk that holds a value; drawn in {@link SlabLayout}. */
final class Items {

    static final int HEADER = 32;
    static final int DEADLINES = 16;
    static final long FLAG_TTL = 1;
    static final long FLAG_MAIN = 2;

    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long MIX_1 = 0x9e3779b97f4a7c15L;
    private static final long MIX_2 = 0xd6e8feb86659fd93L;

    private final Memory memory;
    private final SlabLayout layout;
    private final long seed;

    Items(Memory memory, SlabLayout layout, long seed) {
        this.memory = memory;
        this.layout = layout;
        this.seed = seed;
    }

    static int reference(long offset) {
        return (int) (offset >>> 3);
    }

    /** The offset behind a reference that must be sound. */
    long offset(int reference) {
        long offset = (reference & 0xffffffffL) << 3;
        if (!layout.holdsItem(offset)) {
            throw new HoldfastException(Category.CORRUPT, "a reference points to offset " + offset);
        }
        return offset;
    }

    static long linksAt(long offset) {
        return offset + 8;
    }

    static long shapeAt(long offset) {
        return offset + 24;
    }

    int next(long offset) {
        return (int) memory.word(offset);
    }

    int checksum(long offset) {
        return (int) (memory.word(offset) >>> 32);
    }

    static long head(int next, int checksum) {
        return (next & 0xffffffffL) | (long) checksum << 32;
    }

    int newer(long offset) {
        return (int) memory.word(linksAt(offset));
    }

    int older(long offset) {
        return (int) (memory.word(linksAt(offset)) >>> 32);
    }

    long version(long offset) {
        return memory.word(offset + 16);
    }

    long shape(long offset) {
        return memory.word(shapeAt(offset));
    }

    static long shape(int valueLength, int keyLength, int namespace, long flags) {
        return (long) valueLength << 32 | (long) keyLength << 16 | (long) namespace << 8 | flags;
    }

    static int valueLength(long shape) {
        return (int) (shape >>> 32);
    }

    static int keyLength(long shape) {
        return (int) (shape >>> 16) & 0xffff;
    }

    static int namespace(long shape) {
        return (int) (shape >>> 8) & 0xff;
    }

    static boolean isMain(long shape) {
        return (shape & FLAG_MAIN) != 0;
    }

    static boolean hasDeadline(long shape) {
        return (shape & FLAG_TTL) != 0;
    }

    /** Where the key begins, counted from the chunk. */
    static int keyAt(long shape) {
        return hasDeadline(shape) ? HEADER + DEADLINES : HEADER;
    }

    /** What the value takes with all that belongs to it; never negative, whatever the shape says. */
    static long bytes(long shape) {
        return keyAt(shape) + (long) keyLength(shape) + (valueLength(shape) & 0xffffffffL);
    }

    long monotonicDeadline(long offset) {
        return memory.word(offset + HEADER);
    }

    long wallDeadline(long offset) {
        return memory.word(offset + HEADER + 8);
    }

    byte[] key(long offset, long shape) {
        byte[] key = new byte[keyLength(shape)];
        memory.read(offset + keyAt(shape), key, 0, key.length);
        return key;
    }

    /** The hash of the key of a value; the same function as below, over memory. */
    long hash(long offset) {
        long shape = shape(offset);
        int length = keyLength(shape);
        long at = offset + keyAt(shape);
        if (at + length > layout.size) {
            throw new HoldfastException(Category.CORRUPT, "the key at offset " + offset + " ends outside the file");
        }
        long state = start(seed, namespace(shape), length);
        int i = 0;
        for (; i + 8 <= length; i += 8) {
            state = fold(state ^ memory.unaligned(at + i), MIX_1);
        }
        if (length - i >= 4) {
            state = fold(state ^ memory.unalignedInt(at + i), MIX_2);
            i += 4;
        }
        long tail = 0;
        for (; i < length; i++) {
            tail = tail << 8 | memory.unsignedByte(at + i);
        }
        return finish(seed, state, tail);
    }

    long hash(int namespace, byte[] key) {
        return hash(seed, namespace, key, key.length);
    }

    /**
     * Folded multiplication over the words of the key, seeded per region so that nobody can prepare keys that share a
     * chain. Chains tell keys apart by their bytes, so a collision costs time and nothing else.
     */
    static long hash(long seed, int namespace, byte[] key, int length) {
        long state = start(seed, namespace, length);
        int i = 0;
        for (; i + 8 <= length; i += 8) {
            state = fold(state ^ (long) LONGS.get(key, i), MIX_1);
        }
        if (length - i >= 4) {
            state = fold(state ^ (int) INTS.get(key, i), MIX_2);
            i += 4;
        }
        long tail = 0;
        for (; i < length; i++) {
            tail = tail << 8 | (key[i] & 0xff);
        }
        return finish(seed, state, tail);
    }

    private static long start(long seed, int namespace, int length) {
        return seed ^ (length + 1) * MIX_1 ^ namespace * MIX_2;
    }

    private static long finish(long seed, long state, long tail) {
        return fold(fold(state ^ tail ^ MIX_2, MIX_1), seed | 1);
    }

    private static long fold(long a, long b) {
        return a * b ^ Math.unsignedMultiplyHigh(a, b);
    }

    /**
     * Ties content to key, namespace, version, lengths and deadlines; never 0, which means "no value here".
     *
     * @param content the {@link Checksum} of the value, which is much work and needs no lock
     * @param hash of key and namespace, which stands for both
     */
    static int seal(long content, long hash, long version, long shape, long monotonic, long wall) {
        long state = fold(content ^ version * MIX_1, MIX_2) ^ fold((shape & ~FLAG_MAIN) + MIX_2, MIX_1);
        state = fold(fold(state ^ monotonic, MIX_1 ^ wall) ^ hash, MIX_2);
        int sealed = (int) (state ^ state >>> 32);
        return sealed == 0 ? 1 : sealed;
    }

    /** Whether a whole value with a right checksum lies at the offset, within so many bytes. Trusts nothing. */
    boolean isWhole(long offset, long room) {
        long shape = shape(offset);
        long bytes = bytes(shape);
        if (checksum(offset) == 0 || valueLength(shape) < 0 || bytes > room || offset + bytes > layout.size) {
            return false;
        }
        long content = Checksum.NOTHING;
        long at = offset + keyAt(shape) + keyLength(shape);
        long left = offset + bytes - at;
        byte[] buffer = new byte[(int) Math.min(left, 16 * Checksum.BLOCK_BYTES)];
        while (left > 0) {
            int part = (int) Math.min(left, buffer.length);
            memory.read(at, buffer, 0, part);
            content = Checksum.of(content, buffer, part);
            at += part;
            left -= part;
        }
        boolean ttl = hasDeadline(shape);
        int sealed = seal(
                content,
                hash(offset),
                version(offset),
                shape,
                ttl ? monotonicDeadline(offset) : 0,
                ttl ? wallDeadline(offset) : 0);
        return sealed == checksum(offset);
    }
}
