package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import io.holdfast.ReclaimReason;
import io.holdfast.redis.aggregate.AggregateScripts.Done;
import io.holdfast.redis.claim.ClaimRules;
import io.holdfast.redis.claim.ClaimRunner;
import io.holdfast.redis.claim.Job;
import io.holdfast.redis.hold.Claim;
import io.holdfast.redis.hold.HoldSet;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.Settlement;
import io.holdfast.redis.hold.Settlement.Result;
import io.holdfast.redis.link.Client;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.BinaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Merges what this instance has claimed and brings it to the sink. Places, renewal and dead letters are those of {@link
 * ClaimRunner}.
 *
 * <p>The parts of a claimed epoch do not change any more, so any instance that merges them, and how often, gets the same value.
 * The sink comes before the commit, so it may see a value again, and recognises it by (key, epoch). A failure of category RETRY
 * means that the sink is down: nothing counts, and this instance claims nothing for a while. A part that cannot be read makes
 * the whole epoch a dead letter at once, with all its parts.
 */
final class Flushers<T> {

    private static final System.Logger LOG = System.getLogger(Flushers.class.getName());
    /** After so many batches that the sink put off, it may be one of them that it puts off. */
    private static final int PASSING_BEFORE_ONE_BY_ONE = 2;
    /** After so many values in a row that the sink put off, it is down. */
    private static final int PASSING_BEFORE_DOWN = 3;

    private final Client client;
    private final AggregateScripts scripts;
    private final Holds holds;
    private final AggregateRules rules;
    private final AggregateFigures figures;
    private final BinaryOperator<T> merge;
    private final PartCodec<T> codec;
    private final @Nullable Sink<T> sink;
    private final String by;
    final ClaimRunner runner;

    Flushers(
            String name,
            Client client,
            AggregateScripts scripts,
            Holds holds,
            AggregateRules rules,
            AggregateFigures figures,
            AggregatesBuilder<T> given,
            PartCodec<T> codec,
            String by) {
        this.client = client;
        this.scripts = scripts;
        this.holds = holds;
        this.rules = rules;
        this.figures = figures;
        this.merge = given.merge();
        this.codec = codec;
        this.sink = given.sink();
        this.by = by;
        int places = sink == null ? 0 : rules.flushers();
        ClaimRules claimRules =
                new ClaimRules(rules.claim(), rules.flushLimit(), rules.attempts(), rules.retryPause(), places);
        this.runner = new ClaimRunner(
                name, holds, claimRules, given.executor(), client.time(), client.random(), this::settled);
    }

    private void settled(Settlement settlement, Result result) {
        switch (result) {
            case DEAD_LETTER -> figures.deadLetters.increment();
            case STALE, ALREADY -> figures.staleCommits.increment();
            case DONE -> {}
        }
    }

    void flush(List<Claim> claims) {
        Sink<T> target = sink;
        if (target != null) {
            runner.start(claims, job -> run(job, target));
        }
    }

    private void run(Job job, Sink<T> target) {
        Map<Integer, List<Claim>> byShard = new TreeMap<>();
        for (Claim claim : job.claims()) {
            byShard.computeIfAbsent(set().shardOf(claim.id()), shard -> new ArrayList<>())
                    .add(claim);
        }
        write(job, target, fetch(job, byShard));
    }

    private HoldSet set() {
        return holds.set();
    }

    /** A claim and its value. */
    private final class Merged {
        final Claim claim;
        final Flush<T> flush;

        Merged(Claim claim, Flush<T> flush) {
            this.claim = claim;
            this.flush = flush;
        }
    }

    private List<Merged> fetch(Job job, Map<Integer, List<Claim>> byShard) {
        List<Call> calls = new ArrayList<>();
        byShard.forEach((shard, claims) -> calls.add(scripts.fetching(shard, claims)));
        List<Outcome> outcomes = scripts.all(calls);
        List<Merged> merged = new ArrayList<>();
        int next = 0;
        for (List<Claim> claims : byShard.values()) {
            Reply reply = outcomes.get(next++).ofWhatWasDone();
            if (reply == null) {
                continue; // not reachable: these claims lapse
            }
            List<Reply> packed = reply.parts();
            for (int i = 0; i < claims.size(); i++) {
                Merged one = merge(job, claims.get(i), packed.get(i).bytesOrNull());
                if (one != null) {
                    merged.add(one);
                }
            }
        }
        return merged;
    }

    private @Nullable Merged merge(Job job, Claim claim, byte @Nullable [] packed) {
        try {
            if (packed == null) {
                throw Wire.corrupt("its parts are not there");
            }
            List<PartCodec.Named> parts = PartCodec.unpack(packed);
            T value = null;
            Tally tally = Tally.NONE;
            for (PartCodec.Named named : parts) {
                PartCodec.Part<T> part = codec.decode(named.bytes());
                value = value == null ? part.value() : Partial.merged(merge, value, part.value());
                tally = tally.plus(part.tally());
            }
            if (value == null) {
                throw Wire.corrupt("it has no parts");
            }
            byte[] bytes = codec.encodeValue(value);
            return new Merged(
                    claim,
                    new Flush<>(
                            set().name(),
                            claim.id(),
                            claim.epoch(),
                            claim.token(),
                            value,
                            bytes,
                            packed,
                            tally,
                            parts.size()));
        } catch (RuntimeException | Error e) {
            bury(job, claim, "its parts cannot be read or merged: " + e);
            return null;
        }
    }

    private void bury(Job job, Claim claim, String reason) {
        figures.failed.increment();
        job.settle(Settlement.bury(claim, reason));
    }

    private void write(Job job, Sink<T> target, List<Merged> merged) {
        if (merged.isEmpty()) {
            return;
        }
        Throwable failure = attempt(job, target, merged);
        if (failure == null) {
            return;
        }
        if (merged.size() > 1 && (!isPassing(failure) || runner.passingFailures() >= PASSING_BEFORE_ONE_BY_ONE)) {
            oneByOne(job, target, merged);
        } else if (isPassing(failure)) {
            putOff(job, merged.stream().map(one -> one.claim).toList(), failure);
        } else {
            failed(job, merged.getFirst().claim, failure);
        }
    }

    /** Why the sink did not take them; null if it did. */
    private @Nullable Throwable attempt(Job job, Sink<T> target, List<Merged> merged) {
        try {
            target.flush(merged.stream().map(one -> one.flush).toList());
        } catch (Throwable failure) {
            return failure;
        }
        runner.succeeded();
        commit(job, merged);
        return null;
    }

    /**
     * One that is wrong, or that the sink puts off again and again, must not keep the others. In an order of chance, and no more
     * than a few tries if the sink is down after all.
     */
    private void oneByOne(Job job, Sink<T> target, List<Merged> merged) {
        List<Merged> order = new ArrayList<>(merged);
        Collections.shuffle(order, new Random(merged.getFirst().claim.token()));
        List<Claim> puttingOff = new ArrayList<>();
        Throwable last = null;
        int inARow = 0;
        for (Merged one : order) {
            Throwable failure = inARow < PASSING_BEFORE_DOWN ? attempt(job, target, List.of(one)) : last;
            if (failure == null) {
                inARow = 0;
            } else if (isPassing(failure)) {
                inARow++;
                last = failure;
                puttingOff.add(one.claim);
            } else {
                inARow = 0;
                failed(job, one.claim, failure);
            }
        }
        if (last != null) {
            putOff(job, puttingOff, last);
        }
    }

    private static boolean isPassing(Throwable failure) {
        return failure instanceof HoldfastException e && e.isRetryable();
    }

    private void putOff(Job job, List<Claim> claims, Throwable why) {
        figures.failed.add(claims.size());
        job.putOff(claims, why);
    }

    private void failed(Job job, Claim claim, Throwable failure) {
        figures.failed.increment();
        job.failed(claim, failure);
    }

    /**
     * What is written is gone from Redis. If that cannot be noted, the claims lapse, and the sink sees it again; so it does if
     * too few replicas have it and a fail-over loses it.
     */
    private void commit(Job job, List<Merged> merged) {
        Map<Integer, List<Merged>> byShard = new TreeMap<>();
        for (Merged one : merged) {
            String refusal = one.flush.refusal();
            if (refusal != null) {
                bury(job, one.claim, refusal);
            } else {
                byShard.computeIfAbsent(set().shardOf(one.claim.id()), shard -> new ArrayList<>())
                        .add(one);
            }
        }
        List<Call> calls = new ArrayList<>();
        byShard.forEach((shard, written) -> calls.add(scripts.committing(
                shard,
                by,
                rules.ledgerCapacity(),
                written.stream().map(one -> new Done(one.claim, note(one))).toList())));
        List<Outcome> outcomes = scripts.all(calls);
        int next = 0;
        for (List<Merged> written : byShard.values()) {
            Call call = calls.get(next);
            Reply reply = outcomes.get(next++).ofWhatWasDone();
            if (reply == null) {
                reply = onceMore(call);
            }
            for (int i = 0; reply != null && i < written.size(); i++) {
                job.settled(written.get(i).claim);
                if (reply.text(i).equals("OK")) {
                    figures.flushed.increment();
                    tell(written.get(i).claim);
                } else {
                    figures.staleCommits.increment();
                }
            }
        }
    }

    private @Nullable Reply onceMore(Call call) {
        try {
            return scripts.one(call);
        } catch (HoldfastException e) {
            LOG.log(Level.DEBUG, () -> "what is in the sink of " + set() + " could not be noted: " + e);
            return null;
        }
    }

    private String note(Merged one) {
        return "epoch " + one.claim.epoch() + ", token " + one.claim.token() + ", " + one.flush.updates()
                + " updates in " + one.flush.parts() + " parts, digest " + one.flush.digest();
    }

    private void tell(Claim claim) {
        if (!client.notices().isEmpty()) {
            client.notices().onReclaimed(set().reclaimed(claim, ReclaimReason.FLUSHED, client.self()));
        }
    }
}
