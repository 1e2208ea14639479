package io.holdfast.slab;

/** Which family of rules a region lives by; fixed when its file is created. */
public enum Preset {
    /**
     * Recommended: pages of 64 KiB or more, size steps of 1.125, pages that move to the slot where they earn more hits,
     * scan-resistant queues, at most one page's values evicted by a put.
     */
    ADAPTIVE,
    /** The original algorithm: pages of 4 KiB, slots of powers of two, one queue by use per slot. */
    SEED
}
