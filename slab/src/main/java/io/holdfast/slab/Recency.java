package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_EPOCH;
import static io.holdfast.slab.SlabLayout.C_EPOCH_BYTES;
import static io.holdfast.slab.SlabLayout.C_RING_DRAINED;
import static io.holdfast.slab.SlabLayout.C_RING_TAIL;
import static io.holdfast.slab.SlabLayout.RING;

import java.lang.invoke.VarHandle;

/**
 * How a get is remembered without the lock. Readers write only into tables of their own, never into data pages: a
 * reader that comes too late, when the chunk has another owner already, spoils a bit of order and no value.
 */
abstract sealed class Recency {

    /** Called by readers after a get that was found valid. */
    abstract void touched(long offset, long version);

    /** Called under the lock before a victim is chosen. */
    abstract void apply();

    /** Called under the lock for a value about to be linked. */
    abstract void stored(long offset, long bytes, int frequency);

    /** Whether so many touches wait that a reader should try to have them applied. */
    boolean isPressing() {
        return false;
    }

    /** Exact order of use, for SEED: readers append to a ring that the next holder of the lock empties. */
    static final class Ring extends Recency {

        private final Memory memory;
        private final SlabLayout layout;
        private final Mutations mutations;

        Ring(Mutations mutations) {
            this.memory = mutations.memory;
            this.layout = mutations.layout;
            this.mutations = mutations;
        }

        @Override
        void touched(long offset, long version) {
            long place = memory.add(C_RING_TAIL, 1);
            memory.release(at(place), (long) Items.reference(offset) << 32 | version & 0xffffffffL);
        }

        private long at(long place) {
            return layout.ringAt + (place & (RING - 1)) * 8;
        }

        @Override
        boolean isPressing() {
            return memory.opaque(C_RING_TAIL) - memory.opaque(C_RING_DRAINED) > RING / 2;
        }

        @Override
        void apply() {
            long tail = memory.acquire(C_RING_TAIL);
            long drained = memory.word(C_RING_DRAINED);
            if (tail == drained) {
                return;
            }
            for (long place = Math.max(drained, tail - RING); place < tail; place++) {
                long entry = memory.acquire(at(place));
                memory.word(at(place), 0);
                long offset = (entry >>> 32) << 3;
                if (entry != 0
                        && mutations.pages.isChunk(offset)
                        && mutations.items.checksum(offset) != 0
                        && (int) mutations.items.version(offset) == (int) entry) {
                    mutations.promote(offset);
                }
            }
            memory.word(C_RING_DRAINED, tail);
        }

        @Override
        void stored(long offset, long bytes, int frequency) {}
    }

    /**
     * For ADAPTIVE: sixteen bits per 128 bytes of data, how often (2) and when (14) the chunk was last used. Time is
     * counted in epochs; one has passed when 1/128 of the region's bytes were stored. A reader that finds the mark as
     * it would leave it writes nothing, so hot values cost no cache traffic between processes.
     */
    static final class Marks extends Recency {

        static final int EPOCHS = 1 << 14;
        static final int FREQUENCY_MOST = 3;

        private final Memory memory;
        private final SlabLayout layout;
        private final long epochBytes;

        Marks(Memory memory, SlabLayout layout) {
            this.memory = memory;
            this.layout = layout;
            this.epochBytes = Math.max(1, ((long) layout.pages << layout.pageShift) / 128);
        }

        @Override
        void touched(long offset, long version) {
            long at = layout.markAt(offset);
            short mark = memory.mark(at);
            int frequency = Math.min(frequency(mark) + 1, FREQUENCY_MOST);
            short now = mark(frequency, (int) memory.opaque(C_EPOCH));
            if (now != mark) {
                memory.mark(at, now);
            }
        }

        @Override
        void apply() {}

        @Override
        void stored(long offset, long bytes, int frequency) {
            long passed = memory.word(C_EPOCH_BYTES) + bytes;
            if (passed >= epochBytes) {
                memory.release(C_EPOCH, memory.word(C_EPOCH) + 1);
                passed = 0;
            }
            memory.word(C_EPOCH_BYTES, passed);
            memory.mark(layout.markAt(offset), mark(frequency, (int) memory.word(C_EPOCH)));
            VarHandle.storeStoreFence();
        }

        long epoch() {
            return memory.word(C_EPOCH);
        }

        int frequency(long offset) {
            return frequency(memory.mark(layout.markAt(offset)));
        }

        void setFrequency(long offset, int frequency) {
            long at = layout.markAt(offset);
            memory.mark(at, mark(frequency, memory.mark(at)));
        }

        /** Epochs since the chunk was last used. */
        int age(long offset) {
            return (int) (memory.word(C_EPOCH) - memory.mark(layout.markAt(offset))) & (EPOCHS - 1);
        }

        private static int frequency(short mark) {
            return (mark >>> 14) & 3;
        }

        private static short mark(int frequency, int epoch) {
            return (short) (frequency << 14 | epoch & (EPOCHS - 1));
        }
    }
}
