package io.holdfast.redis.graph;

import io.holdfast.redis.graph.GraphScripts.Collected;
import io.holdfast.redis.graph.GraphScripts.Stepped;

/**
 * When to have the server free what scripts left behind (collect.lua). A step leaves some 100 KiB of tables and strings; a
 * collection first looks at all that is in use, so it is worth its time only when enough has gathered: as much as is in use,
 * as the server would have it, but no less than {@value #WORTH_KIB} KiB.
 */
final class ScriptGarbage {

    private static final long WORTH_KIB = 600;

    private long inUseKib = Long.MAX_VALUE;
    private boolean isDue;

    /** Whether the next call shall collect, and do nothing else. */
    boolean isDue() {
        return isDue;
    }

    void after(Stepped stepped) {
        inUseKib = Math.min(inUseKib, stepped.scriptKib());
        isDue = stepped.scriptKib() > inUseKib + Math.max(WORTH_KIB, inUseKib);
    }

    void after(Collected collected) {
        if (collected.done()) {
            inUseKib = collected.scriptKib();
            isDue = false;
        }
    }
}
