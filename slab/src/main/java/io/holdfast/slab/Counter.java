package io.holdfast.slab;

/** Counts of the whole region, kept under its lock; and those of processes that are gone. */
enum Counter {
    EVICTED(0),
    LAPSED(1),
    REMOVED(2),
    STORED(3),
    PAGE_MOVES(4),
    THEFTS(5),
    REPAIRS(6),
    SALVAGES(7),
    DROPPED(8),
    LONGEST_HOLD_NANOS(9),
    MOST_EVICTED_BY_A_PUT(10),
    PAST_HITS(11),
    PAST_MISSES(12),
    PAST_STORED(13),
    PAST_REMOVED(14);

    private final int index;

    Counter(int index) {
        this.index = index;
    }

    long at() {
        return SlabLayout.C_COUNTERS + index * 8L;
    }

    long read(Memory memory) {
        return memory.opaque(at());
    }

    void add(Memory memory, long delta) {
        memory.word(at(), memory.word(at()) + delta);
    }

    void raise(Memory memory, long to) {
        if (to > memory.word(at())) {
            memory.word(at(), to);
        }
    }
}
