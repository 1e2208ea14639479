package io.holdfast.slab;

import io.holdfast.Duty;
import java.time.Duration;

/**
 * Verifies what no process watched over, if there is such; then walks the chunks, a few at a time, and takes back those of
 * values that lapsed or were cleared.
 */
record ReclaimDuty(String name, SlabStore store) implements Duty {

    /** One hold of the lock looks at so many, and a step has so many holds. */
    private static final int CHUNKS_A_HOLD = 256;

    private static final int HOLDS_A_STEP = 16;
    private static final Duration PAUSE = Duration.ofMillis(100);

    @Override
    public Step step() {
        if (store.isUnverified()) {
            store.verify();
            return Step.again(0);
        }
        int reclaimed = 0;
        for (int i = 0; i < HOLDS_A_STEP; i++) {
            reclaimed += store.reclaimGone(CHUNKS_A_HOLD);
        }
        return reclaimed > 0 ? Step.again(reclaimed) : Step.restFor(0, PAUSE);
    }
}
