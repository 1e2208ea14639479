package io.holdfast.slab;

/**
 * Remembers the last two keys of each line of the index that were evicted, by a fingerprint, so that a value which is
 * stored again soon starts in the main queue. Nothing depends on them but a guess.
 */
final class Ghosts {

    private static final int AT = 56;
    private static final int EPOCH_BITS = 10;
    private static final int EPOCH_MASK = (1 << EPOCH_BITS) - 1;

    private final Memory memory;
    private final int epochsMost;

    Ghosts(Memory memory, int epochsMost) {
        this.memory = memory;
        this.epochsMost = epochsMost;
    }

    private static int fingerprint(long hash) {
        return (int) (hash ^ hash >>> 29) | 1 << 31;
    }

    void remember(long line, long hash, long epoch) {
        long entry = ((fingerprint(hash) & ~EPOCH_MASK) | ((int) epoch & EPOCH_MASK)) & 0xffffffffL;
        memory.word(line + AT, memory.word(line + AT) << 32 | entry);
    }

    /** Whether the key was evicted lately; it is forgotten then. */
    boolean recall(long line, long hash, long epoch) {
        long word = memory.word(line + AT);
        for (int shift = 0; shift <= 32; shift += 32) {
            int entry = (int) (word >>> shift);
            if (entry != 0 && (entry ^ fingerprint(hash)) >>> EPOCH_BITS == 0) {
                memory.word(line + AT, word & ~(0xffffffffL << shift));
                return ((epoch - entry) & EPOCH_MASK) <= epochsMost;
            }
        }
        return false;
    }
}
