package io.holdfast.slab;

/** Told when a mutation passes a named point, so that a test can kill, stop or fail the process exactly there. */
@FunctionalInterface
interface Probe {

    Probe NONE = point -> {};

    void at(Point point);

    /** Where a mutation can be interrupted. */
    enum Point {
        LOCKED,
        JOURNAL_WRITTEN,
        JOURNAL_VALID,
        JOURNAL_HALF_APPLIED,
        JOURNAL_APPLIED,
        PAGE_TAKEN,
        CHUNK_RESERVED,
        REWRITING,
        VALUE_WRITTEN,
        PUT_UNLINKED,
        PUT_LINKED,
        EVICT_UNLINKED,
        REMOVE_UNLINKED,
        CHUNK_FREED,
        PAGE_FREED,
        MOVE_COPIED,
        MOVE_RELINKED,
        REPAIR_UNDONE,
        REPAIR_RELEASED,
        REPAIR_SEQUENCES,
        SALVAGE_COLLECTED,
        SALVAGE_FORMATTED,
        DONE
    }
}
