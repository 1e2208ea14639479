package io.holdfast.redis.session;

import io.holdfast.Time;
import io.holdfast.redis.hold.Claim;
import io.holdfast.redis.hold.DueDuty;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.Holds.Round;

/** Finds instances whose lease has lapsed and sessions that are due, in all shards at once, and hands what it claims to the closers. */
final class CloseDuty extends DueDuty {

    private final Holds holds;
    private final Closers closers;
    private final SessionFigures figures;

    CloseDuty(String name, Holds holds, Closers closers, SessionFigures figures, Time time) {
        super(name, time);
        this.holds = holds;
        this.closers = closers;
        this.figures = figures;
    }

    @Override
    protected Look look() {
        Round lapse = holds.lapse();
        figures.lapsedLeases.add(lapse.lapsed());
        figures.lapsedHolds.add(lapse.released());
        int free = closers.free();
        boolean claiming = free > 0 && !closers.isPaused();
        long done = lapse.released();
        long next = lapse.nextMillis();
        boolean more = lapse.more();
        if (claiming) {
            Round round = holds.claim(free, CLAIMS_PER_SHARD_MAX);
            count(round);
            for (Claim claim : round.claims()) {
                closers.close(claim);
            }
            done += round.claims().size();
            next = Math.min(next, round.nextMillis());
            more |= round.more();
        }
        return new Look(done, more, next);
    }

    private void count(Round round) {
        figures.orphansInLastCycle = round.fresh();
        figures.orphans.add(round.fresh());
        figures.deadLetters.add(round.dead());
        figures.mistaken.add(round.mistaken());
    }
}
