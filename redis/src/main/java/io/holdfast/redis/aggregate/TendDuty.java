package io.holdfast.redis.aggregate;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import io.holdfast.Time;
import io.holdfast.redis.aggregate.AggregateScripts.Tended;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.Holds.Round;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds instances whose lease has lapsed, ends epochs whose hard window is over, forgets old positions, and hands what is due to
 * the flushers. Every instance does; a little chance in the pauses keeps them from doing it at the same moment.
 */
final class TendDuty implements Duty {

    private static final int LIMIT = 128;
    private static final int CLAIMS_PER_SHARD_MAX = 64;
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);
    private static final Duration JITTER = Duration.ofMillis(50);

    private final String name;
    private final AggregateScripts scripts;
    private final Holds holds;
    private final Flushers<?> flushers;
    private final AggregateRules rules;
    private final AggregateFigures figures;
    private final String by;
    private final Time time;

    TendDuty(
            String name,
            AggregateScripts scripts,
            Holds holds,
            Flushers<?> flushers,
            AggregateRules rules,
            AggregateFigures figures,
            String by,
            Time time) {
        this.name = name;
        this.scripts = scripts;
        this.holds = holds;
        this.flushers = flushers;
        this.rules = rules;
        this.figures = figures;
        this.by = by;
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
        long done = lapse.released();
        boolean more = lapse.more();
        long next = lapse.nextMillis();

        Tended tended = tend();
        done += tended.frozen() + tended.forgotten();
        more |= tended.more();
        next = Math.min(next, tended.nextMillis());

        if (flushers.isFree()) {
            Round claims = holds.claim(CLAIMS_PER_SHARD_MAX);
            figures.mistaken.add(claims.mistaken());
            figures.deadLetters.add(claims.dead());
            if (!claims.claims().isEmpty()) {
                flushers.flush(claims.claims());
                done += claims.claims().size();
            }
            more |= claims.more() && flushers.isFree();
            next = Math.min(next, claims.nextMillis());
        }
        return more ? Step.again(done) : Step.restFor(done, pause(next));
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

    private Duration pause(long nextMillis) {
        long millis = Math.min(nextMillis, LONGEST_PAUSE.toMillis());
        // The low bits of a clock are chance enough, and the same again in a test that steps it.
        long chance = (time.nanoTime() * 0x9E3779B97F4A7C15L) >>> 33;
        return Duration.ofMillis(millis + 1 + chance % JITTER.toMillis());
    }
}
