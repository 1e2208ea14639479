package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_JOURNAL;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.lang.invoke.VarHandle;

/**
 * Makes up to sixteen words of the region change together, or not at all.
 *
 * <p>A mutation stages the new words, and nothing is written. {@link #commit} then writes the before-images into the
 * journal, the count that makes them valid, the new words, and last the count 0. A process that dies on the way leaves
 * either nothing, or a valid journal whose before-images {@link #undo} puts back. They are absolute, so that undoing
 * twice, because the one who undid died too, is the same as undoing once. Stores of one thread reach memory in program
 * order on x86-64 also when the process is killed; the fences keep the compiler to that order.
 *
 * <pre>
 *  C_JOURNAL  count | (address, before) x 16
 * </pre>
 */
final class Journal {

    static final int WORDS_MOST = 16;

    private final Memory memory;
    private final SlabLayout layout;
    private final Probe probe;
    private final long[] addresses = new long[WORDS_MOST];
    private final long[] values = new long[WORDS_MOST];
    private int staged;
    /** A bit for each staged address, which few share: most are not staged yet, and need not be looked for. */
    private long known;

    Journal(Memory memory, SlabLayout layout, Probe probe) {
        this.memory = memory;
        this.layout = layout;
        this.probe = probe;
    }

    /** The word as it will be after the commit. */
    long read(long at) {
        int i = find(at);
        return i < 0 ? memory.word(at) : values[i];
    }

    void stage(long at, long value) {
        int i = find(at);
        if (i >= 0) {
            values[i] = value;
            return;
        }
        if (staged == WORDS_MOST) {
            throw new IllegalStateException("a micro-operation of more than " + WORDS_MOST + " words");
        }
        check(at);
        known |= bit(at);
        addresses[staged] = at;
        values[staged++] = value;
    }

    /** Which of the staged words it is; -1 if it is none. */
    private int find(long at) {
        if ((known & bit(at)) != 0) {
            for (int i = 0; i < staged; i++) {
                if (addresses[i] == at) {
                    return i;
                }
            }
        }
        return -1;
    }

    private static long bit(long at) {
        return 1L << (at >>> 3);
    }

    private void forget() {
        staged = 0;
        known = 0;
    }

    void stageLow(long at, int value) {
        stage(at, (read(at) & 0xffffffff00000000L) | (value & 0xffffffffL));
    }

    void stageHigh(long at, int value) {
        stage(at, (read(at) & 0xffffffffL) | (long) value << 32);
    }

    void stageAdd(long at, long delta) {
        stage(at, read(at) + delta);
    }

    void commit() {
        int count = staged;
        for (int i = 0; i < count; i++) {
            long entry = C_JOURNAL + 8 + i * 16L;
            memory.word(entry, addresses[i]);
            memory.word(entry + 8, memory.word(addresses[i]));
        }
        probe.at(Probe.Point.JOURNAL_WRITTEN);
        memory.release(C_JOURNAL, count);
        VarHandle.storeStoreFence();
        probe.at(Probe.Point.JOURNAL_VALID);
        for (int i = 0; i < count; i++) {
            memory.word(addresses[i], values[i]);
            if (i == 1) {
                probe.at(Probe.Point.JOURNAL_HALF_APPLIED);
            }
        }
        probe.at(Probe.Point.JOURNAL_APPLIED);
        memory.release(C_JOURNAL, 0);
        VarHandle.storeStoreFence();
        forget();
    }

    /** Puts back what an unfinished commit wrote, and forgets what was staged. */
    void undo() {
        forget();
        long count = memory.word(C_JOURNAL);
        if (count < 0 || count > WORDS_MOST) {
            throw new HoldfastException(Category.CORRUPT, "the journal claims " + count + " words");
        }
        for (int i = 0; i < count; i++) {
            long entry = C_JOURNAL + 8 + i * 16L;
            long at = memory.word(entry);
            check(at);
            memory.word(at, memory.word(entry + 8));
        }
        VarHandle.storeStoreFence();
        memory.release(C_JOURNAL, 0);
    }

    /** Drops whatever the journal holds; for salvage, which believes nothing. */
    void clear() {
        forget();
        memory.release(C_JOURNAL, 0);
    }

    private void check(long at) {
        boolean inControl = at >= SlabLayout.C_VERSION && at < C_JOURNAL;
        if ((at & 7) != 0 || !(inControl || at >= SlabLayout.TABLES) || at > layout.size - 8) {
            throw new HoldfastException(Category.CORRUPT, "a mutation would write at offset " + at);
        }
    }
}
