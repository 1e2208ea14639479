package io.holdfast.slab;

import io.holdfast.Duty;
import java.time.Duration;

/** Walks the pages, a few at a time, and takes back what lapsed or was cleared. */
record ReclaimDuty(String name, SlabStore store) implements Duty {

    private static final int PAGES_A_STEP = 16;
    private static final Duration PAUSE = Duration.ofMillis(100);

    @Override
    public Step step() {
        int reclaimed = store.reclaimGone(PAGES_A_STEP);
        return reclaimed > 0 ? Step.again(reclaimed) : Step.restFor(0, PAUSE);
    }
}
