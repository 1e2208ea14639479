package io.holdfast.slab;

/**
 * The original algorithm. When nothing is free, slru removes the least recently used value of the slot itself, else
 * values of larger slots, the smallest first, until a page is free, else of smaller slots, the largest first. lru
 * removes the least recently used values of all, whatever their size, until the new one fits. none removes nothing.
 */
final class SeedEviction implements Eviction {

    private final Mutations mutations;
    private final Slots slots;
    private final SlabLayout layout;

    SeedEviction(Mutations mutations) {
        this.mutations = mutations;
        this.slots = mutations.slots;
        this.layout = mutations.layout;
    }

    @Override
    public boolean startsInMain(long hash, int slot) {
        return true;
    }

    @Override
    public long reserve(int slot, long bytes, long pinned) {
        long offset = mutations.reserveFree(slot, bytes);
        if (offset != 0) {
            return offset;
        }
        return switch (layout.policy) {
            case NONE -> 0;
            case LRU -> evictFrom(0, slot, bytes, pinned);
            case SLRU -> evictBySlot(slot, bytes, pinned);
        };
    }

    private long evictBySlot(int slot, long bytes, long pinned) {
        long own = leastRecentlyUsed(slot, pinned);
        if (own != 0 && !layout.sizes.isRun(slot)) {
            return mutations.evictInto(own, mutations.items.hash(own));
        }
        long offset = evictFrom(slot, slot, bytes, pinned);
        for (int larger = slot + 1; offset == 0 && larger < slots.count; larger++) {
            offset = evictFrom(larger, slot, bytes, pinned);
        }
        for (int smaller = slot - 1; offset == 0 && smaller >= 0; smaller--) {
            offset = evictFrom(smaller, slot, bytes, pinned);
        }
        return offset;
    }

    /** Evicts from the end of one queue until the value fits, or the queue has none to give. */
    private long evictFrom(int queue, int slot, long bytes, long pinned) {
        long victim = leastRecentlyUsed(queue, pinned);
        while (victim != 0) {
            mutations.evict(victim);
            long offset = mutations.reserveFree(slot, bytes);
            if (offset != 0) {
                return offset;
            }
            victim = leastRecentlyUsed(queue, pinned);
        }
        return 0;
    }

    private long leastRecentlyUsed(int queue, long pinned) {
        int oldest = slots.oldest(queue, true);
        if (oldest == 0) {
            return 0;
        }
        long offset = mutations.items.offset(oldest);
        if (offset != pinned) {
            return offset;
        }
        int newer = mutations.items.newer(offset);
        return newer == 0 ? 0 : mutations.items.offset(newer);
    }
}
