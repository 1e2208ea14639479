package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_EPOCH;
import static io.holdfast.slab.SlabLayout.C_EPOCH_BYTES;
import static io.holdfast.slab.SlabLayout.C_RING_DRAINED;
import static io.holdfast.slab.SlabLayout.C_RING_TAIL;
import static io.holdfast.slab.SlabLayout.RING;

/**
 * How a get is remembered without the lock. Readers write only into tables of their own, never into data pages: a
 * reader that comes too late, when the chunk has another owner already, spoils a bit of order and no value.
 */
abstract sealed class Recency {

    /**
     * Called by readers after a get that was found valid.
     *
     * @param head where the head of the value's chain is
     */
    abstract void touched(long head, long offset, long version);

    /** Called under the lock before a victim is chosen. */
    abstract void apply();

    /** Called under the lock for a value about to be linked. */
    abstract void stored(long head, long bytes, int frequency);

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
        void touched(long head, long offset, long version) {
            long place = memory.add(C_RING_TAIL, 1);
            memory.release(at(place), (long) Items.reference(offset) << 32 | (version & 0xffffffffL));
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
        void stored(long head, long bytes, int frequency) {}
    }

    /**
     * For ADAPTIVE: twelve bits per chain, in the line of the index that a get reads anyway: how often (2) and when (10)
     * a value of the chain was last used. Chains are short; the few values that share one share their luck. Time is
     * counted in epochs; one has passed when 1/64 of the region's bytes were stored. A reader that finds the mark as it
     * would leave it writes nothing, so hot values cost no cache traffic between processes. Two readers who write at
     * once may lose one of their marks.
     */
    static final class Marks extends Recency {

        static final int FREQUENCY_MOST = 3;
        private static final int EPOCHS = 1 << 10;
        private static final int BITS = 12;
        private static final long MASK = (1 << BITS) - 1;
        private static final int AT = 48;

        /** Older marks are made this old, before ten bits would make them young again. */
        private static final int AGE_MOST = 768;

        private static final long BYTES_A_LINE = 8192;

        private final Memory memory;
        private final SlabLayout layout;
        private final long epochBytes;
        private long aged;

        Marks(Memory memory, SlabLayout layout) {
            this.memory = memory;
            this.layout = layout;
            this.epochBytes = Math.max(1, ((long) layout.pages << layout.pageShift) / 64);
        }

        private static long wordAt(long head) {
            return (head & -SlabLayout.LINE_BYTES) + AT;
        }

        private static int shift(long head) {
            return (int) ((head & (SlabLayout.LINE_BYTES - 1)) / 8 - 1) * BITS;
        }

        private int mark(long head) {
            return (int) (memory.opaque(wordAt(head)) >>> shift(head) & MASK);
        }

        private void mark(long head, int frequency, long epoch) {
            long word = memory.opaque(wordAt(head)) & ~(MASK << shift(head));
            long mark = (long) frequency << 10 | (epoch & (EPOCHS - 1));
            memory.opaque(wordAt(head), word | mark << shift(head));
        }

        @Override
        void touched(long head, long offset, long version) {
            int mark = mark(head);
            long epoch = memory.opaque(C_EPOCH);
            int frequency = Math.min((mark >>> 10) + 1, FREQUENCY_MOST);
            if (mark != (frequency << 10 | ((int) epoch & (EPOCHS - 1)))) {
                mark(head, frequency, epoch);
            }
        }

        @Override
        void apply() {}

        @Override
        void stored(long head, long bytes, int frequency) {
            long passed = memory.word(C_EPOCH_BYTES) + bytes;
            if (passed >= epochBytes) {
                memory.release(C_EPOCH, memory.word(C_EPOCH) + 1);
                passed = 0;
            }
            memory.word(C_EPOCH_BYTES, passed);
            mark(head, frequency, epoch());
            for (long left = bytes; left >= 0; left -= BYTES_A_LINE) {
                ageNextLine();
            }
        }

        /** In 256 epochs all lines are met, unless they are much more than values: each put meets one for every 8 KiB. */
        private void ageNextLine() {
            aged = aged + 1 < layout.lines ? aged + 1 : 0;
            long line = layout.indexAt + aged * SlabLayout.LINE_BYTES;
            for (int i = 1; i <= SlabLayout.HEADS; i++) {
                long head = line + i * 8L;
                if (age(head) > AGE_MOST) {
                    mark(head, frequency(head), epoch() - AGE_MOST);
                }
            }
        }

        long epoch() {
            return memory.word(C_EPOCH);
        }

        int frequency(long head) {
            return mark(head) >>> 10;
        }

        /** What the mark shall say after a put: one use more, or, if the key is new, what others of the chain had. */
        int frequencyWith(long head, boolean known) {
            boolean alone = (int) memory.word(head) == 0;
            return known ? Math.min(frequency(head) + 1, FREQUENCY_MOST) : alone ? 0 : frequency(head);
        }

        void setFrequency(long head, int frequency) {
            mark(head, frequency, mark(head));
        }

        /** Epochs since the chain was last used. */
        int age(long head) {
            return (int) (epoch() - mark(head)) & (EPOCHS - 1);
        }
    }
}
