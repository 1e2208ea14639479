package io.holdfast.slab;

/** What became of a remove. */
public enum Removal {
    REMOVED,
    ABSENT,
    /** A process that lives held the region's lock until the deadline; nothing was changed. */
    BUSY
}
