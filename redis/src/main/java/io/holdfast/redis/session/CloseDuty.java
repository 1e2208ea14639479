package io.holdfast.redis.session;

import io.holdfast.redis.hold.DueDuty;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.Holds.Round;
import java.lang.System.Logger.Level;
import java.util.random.RandomGenerator;

/** Finds instances whose lease has lapsed and sessions that are due, in all shards at once, and hands what it claims to the closers. */
final class CloseDuty extends DueDuty {

    private static final System.Logger LOG = System.getLogger(CloseDuty.class.getName());

    private final Holds holds;
    private final Closers closers;
    private final SessionFigures figures;

    CloseDuty(String name, Holds holds, Closers closers, SessionFigures figures, RandomGenerator random) {
        super(name, random);
        this.holds = holds;
        this.closers = closers;
        this.figures = figures;
    }

    @Override
    protected Look look() {
        Round lapse = holds.lapse();
        figures.lapsedLeases.add(lapse.lapsed());
        figures.lapsedHolds.add(lapse.released());
        int free = closers.runner.free();
        long done = lapse.released();
        long next = lapse.nextMillis();
        boolean more = lapse.more();
        if (free > 0) {
            Round round = holds.claim(free, CLAIMS_PER_SHARD_MAX);
            count(round);
            if (round.unreplicated()) {
                closers.runner.giveBack(round.claims(), "too few replicas have the claims");
            } else {
                round.claims().forEach(closers::close);
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
        if (round.dead() > 0) {
            LOG.log(
                    Level.WARNING,
                    () -> round.dead() + " sessions of '" + holds.set().name()
                            + "' are dead letters: their claims ran out too often without a result");
        }
    }
}
