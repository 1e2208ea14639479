package io.holdfast.slab;

/**
 * Remembers who was evicted lately, by a fingerprint, so that a value which is stored again soon starts in the main
 * queue. Entries overwrite each other; nothing depends on them but a guess.
 *
 * <pre>
 *  fingerprint (32) | slot (8) | epoch (24)
 * </pre>
 */
final class Ghosts {

    private static final int EPOCH_BITS = 24;

    private final Memory memory;
    private final SlabLayout layout;
    private final int epochsMost;

    Ghosts(Memory memory, SlabLayout layout, int epochsMost) {
        this.memory = memory;
        this.layout = layout;
        this.epochsMost = epochsMost;
    }

    private long at(long hash) {
        long spread = Long.rotateLeft(hash, 32);
        return layout.ghostsAt + Math.unsignedMultiplyHigh(spread, layout.ghosts) * 8;
    }

    private static long fingerprint(long hash) {
        return (hash ^ hash >>> 32) << 32;
    }

    void remember(long hash, int slot, long epoch) {
        memory.word(
                at(hash), fingerprint(hash) | (long) slot << EPOCH_BITS | epoch & ((1 << EPOCH_BITS) - 1) | 1L << 63);
    }

    /** The slot it was evicted from lately, and forgets it; -1 if it was not. */
    int recall(long hash, long epoch) {
        long entry = memory.word(at(hash));
        if (entry == 0 || (entry ^ (fingerprint(hash) | 1L << 63)) >>> 32 != 0) {
            return -1;
        }
        memory.word(at(hash), 0);
        long age = (epoch - entry) & ((1 << EPOCH_BITS) - 1);
        return age > epochsMost ? -1 : (int) (entry >>> EPOCH_BITS) & 0xff;
    }
}
