package io.holdfast.slab;

/** Who makes room, and how. Only under the region's lock. */
interface Eviction {

    /**
     * A reserved chunk for so many bytes, at the cost of others if need be; never at the cost of the value being
     * replaced.
     *
     * @param pinned offset of the value that the new one replaces, or 0. It may be moved
     * @return 0 if there is no way
     */
    long reserve(int slot, long bytes, long pinned);

    /** Whether a new value starts in the main queue of its slot. */
    boolean startsInMain(long hash, int slot);

    /** Reference of the value that would probably go if the slot needed room; 0 if that is not known. No lock is needed. */
    default int likelyVictim(int slot) {
        return 0;
    }
}
