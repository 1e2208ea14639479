package io.holdfast.slab;

/** Counts of the whole region, kept under its lock; and those of processes that are gone. */
enum Counter {
    EVICTED,
    LAPSED,
    REMOVED,
    STORED,
    PAGE_MOVES,
    THEFTS,
    REPAIRS,
    SALVAGES,
    DROPPED,
    LONGEST_HOLD_NANOS,
    MOST_EVICTED_BY_A_PUT,
    PAST_HITS,
    PAST_MISSES,
    PAST_STORED,
    PAST_REMOVED;

    long at() {
        return SlabLayout.C_COUNTERS + ordinal() * 8L;
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
