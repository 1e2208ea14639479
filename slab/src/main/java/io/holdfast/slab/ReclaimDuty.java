package io.holdfast.slab;

import io.holdfast.Duty;
import java.time.Duration;

/**
 * Verifies what no process watched over, if there is such; then walks the chunks, a few at a time, and takes back those of
 * values that lapsed or were cleared.
 */
record ReclaimDuty(String name, Shards shards) implements Duty {

    /** One hold of the lock looks at so many, and a step has so many holds. */
    private static final int CHUNKS_A_HOLD = 256;

    private static final int HOLDS_A_STEP = 16;
    private static final Duration PAUSE = Duration.ofMillis(100);

    @Override
    public Step step() {
        for (SlabStore store : shards.all()) {
            if (store.isUnverified()) {
                store.verify();
                return Step.again(0);
            }
        }
        int reclaimed = 0;
        for (SlabStore store : shards.all()) {
            for (int i = 0; i < Math.ceilDiv(HOLDS_A_STEP, shards.all().size()); i++) {
                reclaimed += store.reclaimGone(CHUNKS_A_HOLD);
            }
        }
        return reclaimed > 0 ? Step.again(reclaimed) : Step.restFor(0, PAUSE);
    }
}
