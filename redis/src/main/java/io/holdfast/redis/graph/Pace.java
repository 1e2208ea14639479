package io.holdfast.redis.graph;

import java.time.Duration;

/**
 * How soon one step of reclaiming may follow another.
 *
 * <p>While others use the server, a step is followed by a rest as long as itself: so they have half of the server's time,
 * whatever there is to reclaim. While nobody does, a rest helps nobody, and it is not free: the same steps took a server that
 * slept in between a fifth longer, as it seems because it finds its caches cold. A single command of somebody else's is served between two
 * steps either way.
 *
 * <p>Who else is there, the server says itself: every {@value #EVERY} steps one asks how many bytes it was sent, and what is
 * more than these steps came from others, other parts of this process and others who reclaim among them. Where it
 * does not say, or was asked too long ago, somebody is there.
 */
final class Pace {

    private static final int EVERY = 8;
    private static final Duration LONGEST_REST = Duration.ofMillis(10);
    private static final Duration TOO_LONG_AGO = Duration.ofMillis(200);
    /** Others count as nobody as long as they send at most this part of what the steps do: a few commands a step. */
    private static final double NOBODY = 0.25;

    private final long stepBytes;
    private int steps;
    private long heardBefore = -1;
    private long heardAt;
    private boolean alone;

    /** @param stepBytes what a step sends to the server */
    Pace(long stepBytes) {
        this.stepBytes = stepBytes;
    }

    /** Whether the next step shall ask how much the server was sent. */
    boolean listens() {
        return steps % EVERY == 0;
    }

    /**
     * Takes note of a step that has ended, and says how long to rest.
     *
     * @param heard what the server said when it was asked; negative if it did not say
     */
    Duration after(Duration took, long heard, long nanoTime) {
        if (listens()) {
            long own = EVERY * stepBytes;
            boolean recently = nanoTime - heardAt <= TOO_LONG_AGO.toNanos();
            long others = heard - heardBefore - own;
            alone = heard >= 0 && heardBefore >= 0 && recently && others >= 0 && others <= own * NOBODY;
            heardBefore = heard;
            heardAt = nanoTime;
        }
        steps++;
        if (alone) {
            return Duration.ZERO;
        }
        return took.compareTo(LONGEST_REST) > 0 ? LONGEST_REST : took;
    }
}
