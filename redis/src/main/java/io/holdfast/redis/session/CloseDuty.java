package io.holdfast.redis.session;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import io.holdfast.Time;
import io.holdfast.redis.hold.Claim;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.Holds.Round;
import java.time.Duration;

/**
 * Finds instances whose lease has lapsed and sessions that are due, in all shards at once, and hands what it has claimed
 * to the closers. Every instance does; a little chance in the pauses keeps them from doing it at the same moment.
 */
final class CloseDuty implements Duty {

    private static final int CLAIMS_PER_SHARD_MAX = 64;
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);
    private static final Duration JITTER = Duration.ofMillis(50);

    private final String name;
    private final Holds holds;
    private final Closers closers;
    private final SessionFigures figures;
    private final Time time;

    CloseDuty(String name, Holds holds, Closers closers, SessionFigures figures, Time time) {
        this.name = name;
        this.holds = holds;
        this.closers = closers;
        this.figures = figures;
        this.time = time;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Step step() {
        try {
            return round();
        } catch (HoldfastException e) {
            if (!e.isRetryable()) {
                throw e;
            }
            // Not left to the runner, whose pauses grow: a store that is back is served within the usual time.
            return Step.restFor(0, pause(Long.MAX_VALUE));
        }
    }

    private Step round() {
        Round lapse = holds.lapse();
        figures.lapsedLeases.add(lapse.lapsed());
        figures.lapsedHolds.add(lapse.released());
        int free = closers.free();
        boolean claiming = free > 0 && !closers.isPaused();
        long done = lapse.released();
        long next = lapse.nextMillis();
        boolean more = lapse.more();
        if (claiming) {
            int perShard = Math.clamp(free / holds.set().shards(), 1, CLAIMS_PER_SHARD_MAX);
            Round round = holds.claim(perShard);
            count(round);
            for (Claim claim : round.claims()) {
                closers.close(claim);
            }
            done += round.claims().size();
            next = Math.min(next, round.nextMillis());
            more |= round.more();
        }
        return more ? Step.again(done) : Step.restFor(done, pause(next));
    }

    private void count(Round round) {
        figures.orphansInLastCycle = round.fresh();
        figures.orphans.add(round.fresh());
        figures.deadLetters.add(round.dead());
        figures.mistaken.add(round.mistaken());
    }

    private Duration pause(long nextMillis) {
        long millis = Math.min(nextMillis, LONGEST_PAUSE.toMillis());
        // The low bits of a clock are chance enough, and the same again in a test that steps it.
        long chance = (time.nanoTime() * 0x9E3779B97F4A7C15L) >>> 33;
        return Duration.ofMillis(millis + 1 + chance % JITTER.toMillis());
    }
}
