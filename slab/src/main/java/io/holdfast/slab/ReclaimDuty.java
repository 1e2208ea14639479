package io.holdfast.slab;

import io.holdfast.Duty;
import java.time.Duration;

/** Walks the chunks, a few at a time, and takes back those of values that lapsed or were cleared. */
record ReclaimDuty(String name, SlabStore store) implements Duty {

    private static final int CHUNKS_A_STEP = 256;
    private static final Duration PAUSE = Duration.ofMillis(100);

    @Override
    public Step step() {
        int reclaimed = store.reclaimGone(CHUNKS_A_STEP);
        return reclaimed > 0 ? Step.again(reclaimed) : Step.restFor(0, PAUSE);
    }
}
