package io.holdfast.slab;

/**
 * Sends for the memory that a put is going to need, so that it comes all at once, while the checksum is computed, and not
 * piece by piece under the lock. What is read here is a guess, and nothing but time depends on it.
 */
final class ReadAhead {

    private static final int KEY_MOST = 256;

    private final Memory memory;
    private final SlabLayout layout;
    private final Items items;
    private final Index index;

    ReadAhead(Mutations mutations) {
        this.memory = mutations.memory;
        this.layout = mutations.layout;
        this.items = mutations.items;
        this.index = mutations.index;
    }

    /**
     * Sends for the key's line and the likely victim.
     *
     * @return the head of the key's chain
     */
    long sendFor(long hash, int victim) {
        long head = memory.acquire(Index.headAt(index.lineAt(hash), hash));
        return isNever(shapeOf(victim)) ? 0 : head;
    }

    /** Sends for the value under the key, and for the line and the neighbour of the victim. */
    void sendForMore(long head, int victim) {
        long more = shapeOf((int) head);
        long offset = (victim & 0xffffffffL) << 3;
        if (layout.holdsItem(offset)) {
            more += shapeOf(items.newer(offset));
            // Without the lock any length may be read: a key that may end outside the file is left alone.
            boolean inside = offset < layout.size - Items.HEADER - Items.DEADLINES - SlabLayout.KEY_MOST;
            if (inside && Items.keyLength(items.shape(offset)) <= KEY_MOST) {
                more += memory.acquire(index.lineAt(items.hash(offset)));
            }
        }
        if (isNever(more)) {
            Thread.onSpinWait();
        }
    }

    private long shapeOf(int reference) {
        long offset = (reference & 0xffffffffL) << 3;
        return layout.holdsItem(offset) ? memory.acquire(Items.shapeAt(offset)) : 0;
    }

    /** What was read must seem to be of use, or the compiler drops the reading. */
    private static boolean isNever(long word) {
        return word == 0x5eed_5eed_5eed_5eedL;
    }
}
