package io.holdfast.redis.aggregate;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import io.holdfast.ReclaimReason;
import io.holdfast.redis.aggregate.AggregateScripts.Done;
import io.holdfast.redis.hold.Claim;
import io.holdfast.redis.hold.HoldSet;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.Holds.Settled;
import io.holdfast.redis.link.Client;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BinaryOperator;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Merges what this instance has claimed and brings it to the sink.
 *
 * <p>The parts of a claimed epoch do not change any more, so whoever merges them, and how often, the value is the same. The sink
 * comes before the commit, so it may see a value again, and recognises it by (key, epoch). A failure of category RETRY says that
 * the sink is down: nothing counts as an attempt, and this instance claims nothing for a while. A part that cannot be read
 * makes the whole epoch a dead letter at once, with all its parts.
 */
final class Flushers<T> implements Duty {

    private static final System.Logger LOG = System.getLogger(Flushers.class.getName());
    private static final Duration LONGEST_RETRY_PAUSE = Duration.ofMinutes(5);
    private static final Duration LONGEST_CLAIM_PAUSE = Duration.ofSeconds(30);
    /** After so many batches that the sink put off, it may be one of them that it puts off. */
    private static final int PASSING_BEFORE_ONE_BY_ONE = 2;
    /** After so many values in a row that the sink put off, it is down. */
    private static final int PASSING_BEFORE_DOWN = 3;

    private final String name;
    private final Client client;
    private final AggregateScripts scripts;
    private final Holds holds;
    private final AggregateRules rules;
    private final AggregateFigures figures;
    private final BinaryOperator<T> merge;
    private final PartCodec<T> codec;
    private final @Nullable Sink<T> sink;
    private final Executor executor;
    private final String by;
    private final AtomicInteger free;
    private final Set<Running> running = ConcurrentHashMap.newKeySet();
    private volatile long pausedUntilNanos;
    private final AtomicInteger passingFailures = new AtomicInteger();
    private volatile Runnable whenFree = () -> {};

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
        this.name = name;
        this.client = client;
        this.scripts = scripts;
        this.holds = holds;
        this.rules = rules;
        this.figures = figures;
        this.merge = given.merge();
        this.codec = codec;
        this.sink = given.sink();
        this.executor = given.executor();
        this.by = by;
        this.free = new AtomicInteger(sink == null ? 0 : rules.flushers());
        this.pausedUntilNanos = client.time().nanoTime();
    }

    /** Whether another batch may begin; never without a sink. */
    boolean isFree() {
        return free.get() > 0 && client.time().nanoTime() - pausedUntilNanos >= 0;
    }

    void whenFree(Runnable task) {
        whenFree = task;
    }

    int runningCount() {
        return running.size();
    }

    void flush(List<Claim> claims) {
        free.decrementAndGet();
        Running one = new Running(claims, client.time().nanoTime());
        running.add(one);
        try {
            executor.execute(() -> run(one));
        } catch (RuntimeException e) {
            finished(one);
            putOff(claims, e); // the executor refused: nothing is wrong with these, they were not even tried
        }
    }

    private void run(Running one) {
        Sink<T> target = sink;
        if (target == null) {
            return;
        }
        one.thread = Thread.currentThread();
        try {
            Map<Integer, List<Claim>> byShard = new TreeMap<>();
            for (Claim claim : one.claims) {
                byShard.computeIfAbsent(set().shardOf(claim.id()), shard -> new ArrayList<>())
                        .add(claim);
            }
            List<Merged> merged = fetch(byShard);
            write(target, merged);
        } catch (HoldfastException e) {
            if (!e.isRetryable()) {
                LOG.log(Level.WARNING, () -> "a flush of " + set() + " was given up", e);
            } // Redis cannot be reached: the claims lapse, and are given anew
        } finally {
            one.thread = null;
            Thread.interrupted(); // the limit may have passed in the last moment
            finished(one);
        }
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

    private List<Merged> fetch(Map<Integer, List<Claim>> byShard) {
        List<Call> calls = new ArrayList<>();
        byShard.forEach((shard, claims) -> calls.add(scripts.fetching(shard, claims)));
        List<Outcome> outcomes = scripts.all(calls);
        List<Merged> merged = new ArrayList<>();
        int next = 0;
        for (List<Claim> claims : byShard.values()) {
            Outcome outcome = outcomes.get(next++);
            if (outcome.failure() != null) {
                continue; // not reachable: these claims lapse
            }
            List<Reply> packed = outcome.get().parts();
            for (int i = 0; i < claims.size(); i++) {
                Merged one = merge(claims.get(i), packed.get(i).bytesOrNull());
                if (one != null) {
                    merged.add(one);
                }
            }
        }
        return merged;
    }

    private @Nullable Merged merge(Claim claim, byte @Nullable [] packed) {
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
                            set().name(), claim.id(), claim.epoch(), claim.token(), value, bytes, tally, parts.size()));
        } catch (RuntimeException e) {
            bury(claim, "its parts cannot be read or merged: " + e);
            return null;
        }
    }

    private void bury(Claim claim, String reason) {
        figures.failed.increment();
        LOG.log(
                Level.WARNING,
                () -> "aggregate '" + claim.id() + "' of '" + set().name() + "' epoch " + claim.epoch()
                        + " is a dead letter: " + reason);
        String line = reason.length() > 500 ? reason.substring(0, 500) : reason;
        tellStore(List.of(claim), buried -> {
            if (scripts.bury(set().shardOf(buried.id()), buried, line.replace('\n', ' '))
                    .equals("DEAD")) {
                figures.deadLetters.increment();
            } else {
                figures.staleCommits.increment();
            }
        });
    }

    /** Tells the store something of each claim. A shard that does not answer is left alone: its claims lapse. */
    private void tellStore(List<Claim> claims, Consumer<Claim> what) {
        Set<Integer> silent = new HashSet<>();
        for (Claim claim : claims) {
            int shard = set().shardOf(claim.id());
            if (silent.contains(shard)) {
                continue;
            }
            try {
                what.accept(claim);
            } catch (HoldfastException e) {
                silent.add(shard);
                LOG.log(Level.DEBUG, () -> "shard " + shard + " of " + set() + " was not told of its claims: " + e);
            }
        }
    }

    private void write(Sink<T> target, List<Merged> merged) {
        if (merged.isEmpty()) {
            return;
        }
        Throwable failure = attempt(target, merged);
        if (failure == null) {
            return;
        }
        if (merged.size() > 1 && (!isPassing(failure) || passingFailures.get() >= PASSING_BEFORE_ONE_BY_ONE)) {
            oneByOne(target, merged);
        } else if (isPassing(failure)) {
            putOff(merged.stream().map(one -> one.claim).toList(), failure);
        } else {
            failed(merged.getFirst().claim, failure);
        }
    }

    /** Why the sink did not take them; null if it did. */
    private @Nullable Throwable attempt(Sink<T> target, List<Merged> merged) {
        try {
            target.flush(merged.stream().map(one -> one.flush).toList());
        } catch (Throwable failure) {
            return failure;
        }
        passingFailures.set(0);
        commit(merged);
        return null;
    }

    /**
     * One that is wrong, or that the sink puts off again and again, must not keep the others. In an order of chance, and no more
     * than a few tries if the sink is down after all.
     */
    private void oneByOne(Sink<T> target, List<Merged> merged) {
        List<Merged> order = new ArrayList<>(merged);
        Collections.shuffle(order, new Random(merged.getFirst().claim.token()));
        List<Claim> puttingOff = new ArrayList<>();
        Throwable last = null;
        int inARow = 0;
        for (Merged one : order) {
            Throwable failure = inARow < PASSING_BEFORE_DOWN ? attempt(target, List.of(one)) : last;
            if (failure == null) {
                inARow = 0;
            } else if (isPassing(failure)) {
                inARow++;
                last = failure;
                puttingOff.add(one.claim);
            } else {
                inARow = 0;
                failed(one.claim, failure);
            }
        }
        if (last != null) {
            putOff(puttingOff, last);
        }
    }

    private static boolean isPassing(Throwable failure) {
        return failure instanceof HoldfastException e && e.isRetryable();
    }

    /** Gives claims back, as attempts that do not count, and claims nothing for a while. */
    private void putOff(List<Claim> claims, Throwable why) {
        figures.failed.add(claims.size());
        Duration pause = doubled(rules.retryPause(), passingFailures.incrementAndGet(), LONGEST_CLAIM_PAUSE);
        pausedUntilNanos = client.time().nanoTime() + pause.toNanos();
        LOG.log(Level.DEBUG, () -> "claims of " + set() + " are put off, again in " + pause + ": " + why);
        tellStore(claims, claim -> holds.later(claim, pause.toMillis()));
    }

    private void failed(Claim claim, Throwable failure) {
        figures.failed.increment();
        LOG.log(
                Level.WARNING,
                () -> "flushing aggregate '" + claim.id() + "' of '" + set().name() + "' failed, attempt "
                        + claim.attempt() + " of " + rules.attempts() + ": " + failure);
        LOG.log(Level.DEBUG, "the failure in full", failure);
        Duration pause = doubled(rules.retryPause(), claim.attempt(), LONGEST_RETRY_PAUSE);
        tellStore(List.of(claim), wrong -> {
            if (holds.retry(wrong, pause.toMillis()) == Settled.DEAD_LETTER) {
                figures.deadLetters.increment();
            }
        });
    }

    private static Duration doubled(Duration first, int times, Duration longest) {
        Duration pause = first.multipliedBy(1L << Math.min(times - 1, 20));
        return pause.compareTo(longest) > 0 ? longest : pause;
    }

    /** What is written is gone from Redis. If that cannot be noted, the claims lapse, and the sink sees it again. */
    private void commit(List<Merged> merged) {
        Map<Integer, List<Merged>> byShard = new TreeMap<>();
        for (Merged one : merged) {
            String refusal = one.flush.refusal();
            if (refusal != null) {
                bury(one.claim, refusal);
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
                rules.redeliveryWindow().toSeconds(),
                written.stream().map(one -> new Done(one.claim, note(one))).toList())));
        List<Outcome> outcomes = scripts.all(calls);
        int next = 0;
        for (List<Merged> written : byShard.values()) {
            Call call = calls.get(next);
            Reply reply = outcomes.get(next++).reply();
            if (reply == null) {
                reply = onceMore(call);
            }
            for (int i = 0; reply != null && i < written.size(); i++) {
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

    private void finished(Running one) {
        if (running.remove(one) && free.incrementAndGet() == 1) {
            whenFree.run();
        }
    }

    @Override
    public String name() {
        return name;
    }

    /** Renews the claims of batches that still run, up to the limit. */
    @Override
    public Step step() {
        long now = client.time().nanoTime();
        long third = rules.claim().dividedBy(3).toNanos();
        long done = 0;
        for (Running one : running) {
            if (now - one.startedNanos > rules.flushLimit().toNanos()) {
                one.giveUp();
            } else if (now - one.renewedNanos >= third) {
                one.renewedNanos = now;
                tellStore(one.claims, holds::renew);
                done += one.claims.size();
            }
        }
        return Step.restFor(
                done, Duration.ofNanos(Math.min(third / 2, Duration.ofSeconds(1).toNanos())));
    }

    private static final class Running {
        final List<Claim> claims;
        final long startedNanos;
        long renewedNanos;
        volatile @Nullable Thread thread;
        private boolean givenUp;

        Running(List<Claim> claims, long now) {
            this.claims = claims;
            this.startedNanos = now;
            this.renewedNanos = now;
        }

        /** The claims are lost: the sink is asked to stop. */
        void giveUp() {
            Thread runner = thread;
            if (!givenUp && runner != null) {
                givenUp = true;
                runner.interrupt();
            }
        }
    }
}
