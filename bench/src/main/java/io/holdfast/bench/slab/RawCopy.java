package io.holdfast.bench.slab;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The limit: a hash table that knows where each value lies, a sequence per entry, one copy. No eviction, no key
 * comparison beyond the number, no other process. What a cache that copies cannot be faster than.
 *
 * <p>It is filled with the most popular keys in random order, as a cache is: popularity is not known when a value comes.
 * Filled by rank, the values that are read most lie side by side and share pages and their entries in the processor's
 * tables, which is worth a quarter of a get; that is measured beside it. Its memory is in large pages where the kernel
 * gives them, as the slab cache's is: it would be no limit otherwise.
 */
final class RawCopy implements CachePeer {

    private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();
    private static final long ENTRY = 32; // sequence, key + 1, offset, length

    private static final long LARGE_PAGE = 1 << 21;
    private static final int MADV_COLLAPSE = 25;

    private final Arena arena = Arena.ofShared();
    private final MemorySegment data;
    private final MemorySegment table;
    private final long mask;
    private long used;

    RawCopy(long bytes, int entries) {
        data = inLargePages(arena.allocate(bytes, LARGE_PAGE));
        long slots = Long.highestOneBit(Math.max(16, entries * 2L)) * 2;
        table = inLargePages(arena.allocate(slots * ENTRY, LARGE_PAGE));
        mask = slots - 1;
    }

    private static MemorySegment inLargePages(MemorySegment memory) {
        Linker linker = Linker.nativeLinker();
        MethodHandle madvise = linker.downcallHandle(
                linker.defaultLookup().findOrThrow("madvise"),
                FunctionDescriptor.of(
                        ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));
        try {
            int refused = (int) madvise.invokeExact(memory, memory.byteSize(), MADV_COLLAPSE);
            if (refused != 0) {
                System.err.println("the raw limit is in small pages");
            }
            return memory;
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    private long find(long key) {
        long at = (key * 0x9e3779b97f4a7c15L) >>> 20;
        while (true) {
            long entry = (at & mask) * ENTRY;
            long held = (long) WORD.get(table, entry + 8);
            if (held == key + 1 || held == 0) {
                return entry;
            }
            at++;
        }
    }

    @Override
    public byte @Nullable [] get(long key) {
        long entry = find(key);
        while (true) {
            long sequence = (long) WORD.getAcquire(table, entry);
            int length = (int) (long) WORD.get(table, entry + 24);
            long offset = (long) WORD.get(table, entry + 16);
            if (sequence == 0) {
                return null;
            }
            byte[] value = new byte[length];
            MemorySegment.copy(data, ValueLayout.JAVA_BYTE, offset, value, 0, length);
            VarHandle.acquireFence();
            if ((sequence & 1) == 0 && (long) WORD.getOpaque(table, entry) == sequence) {
                return value;
            }
        }
    }

    @Override
    public synchronized void put(long key, byte[] value) {
        long entry = find(key);
        long sequence = (long) WORD.get(table, entry);
        long offset = (long) WORD.get(table, entry + 16);
        if (sequence == 0) {
            if (used + value.length + 8 > data.byteSize()) {
                return;
            }
            offset = used;
            used += (value.length + 7) & ~7;
            WORD.set(table, entry + 16, offset);
            WORD.set(table, entry + 24, (long) value.length);
        }
        WORD.setRelease(table, entry, sequence + 1);
        VarHandle.storeStoreFence();
        MemorySegment.copy(value, 0, data, ValueLayout.JAVA_BYTE, offset, value.length);
        WORD.set(table, entry + 8, key + 1);
        WORD.setRelease(table, entry, sequence + 2);
    }

    @Override
    public int keysMost() {
        return Workload.keysIn(data.byteSize());
    }

    @Override
    public boolean evicts() {
        return false;
    }

    @Override
    public void close() {
        arena.close();
    }
}
