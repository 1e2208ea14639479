package io.holdfast.redis.aggregate;

import io.holdfast.redis.aggregate.AggregateScripts.Tended;
import io.holdfast.redis.hold.DueDuty;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.Holds.Round;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Finds instances whose lease has lapsed, ends epochs whose hard window is over, forgets old positions, and hands what is
 * due to the flushers.
 */
final class TendDuty extends DueDuty {

    private static final System.Logger LOG = System.getLogger(TendDuty.class.getName());
    private static final int LIMIT = 128;

    private final AggregateScripts scripts;
    private final Holds holds;
    private final Flushers<?> flushers;
    private final AggregateRules rules;
    private final AggregateFigures figures;
    private final String by;

    TendDuty(
            String name,
            AggregateScripts scripts,
            Holds holds,
            Flushers<?> flushers,
            AggregateRules rules,
            AggregateFigures figures,
            String by,
            RandomGenerator random) {
        super(name, random);
        this.scripts = scripts;
        this.holds = holds;
        this.flushers = flushers;
        this.rules = rules;
        this.figures = figures;
        this.by = by;
    }

    @Override
    protected Look look() {
        Round lapse = holds.lapse();
        figures.lapsedLeases.add(lapse.lapsed());
        long done = lapse.released();
        boolean more = lapse.more();
        long next = lapse.nextMillis();

        Tended tended = tend();
        done += tended.frozen() + tended.forgotten();
        more |= tended.more();
        next = Math.min(next, tended.nextMillis());

        if (flushers.runner.free() > 0) {
            Round claims = holds.claim(CLAIMS_PER_SHARD_MAX);
            figures.mistaken.add(claims.mistaken());
            figures.deadLetters.add(claims.dead());
            if (claims.dead() > 0) {
                LOG.log(
                        Level.WARNING,
                        () -> claims.dead() + " epochs of " + holds.set()
                                + " are dead letters: their claims ran out too often without a result");
            }
            if (claims.unreplicated()) {
                flushers.runner.giveBack(claims.claims(), "too few replicas have the claims");
            } else if (!claims.claims().isEmpty()) {
                flushers.flush(claims.claims());
                done += claims.claims().size();
            }
            more |= claims.more() && flushers.runner.free() > 0;
            next = Math.min(next, claims.nextMillis());
        }
        return new Look(done, more, next);
    }

    private Tended tend() {
        List<Call> calls = new ArrayList<>();
        for (int shard = 0; shard < rules.shards(); shard++) {
            calls.add(scripts.tending(shard, LIMIT, rules.redeliveryWindow().toSeconds(), by));
        }
        long next = Long.MAX_VALUE;
        long frozen = 0;
        long forgotten = 0;
        long bytes = 0;
        boolean more = false;
        boolean whole = true;
        for (Outcome outcome : scripts.all(calls)) {
            if (outcome.failure() != null) {
                whole = false;
                continue; // a shard that cannot be reached keeps nobody from the others
            }
            Tended tended = Tended.of(outcome.get());
            next = Math.min(next, tended.nextMillis() < 0 ? Long.MAX_VALUE : tended.nextMillis());
            frozen += tended.frozen();
            forgotten += tended.forgotten();
            bytes += tended.bytes();
            more |= tended.more();
        }
        figures.frozen.add(frozen);
        if (whole) {
            figures.waitingBytes = bytes;
        }
        return new Tended(next, frozen, forgotten, bytes, more);
    }
}
