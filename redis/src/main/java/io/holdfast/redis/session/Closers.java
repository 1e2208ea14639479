package io.holdfast.redis.session;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import io.holdfast.ReclaimReason;
import io.holdfast.redis.hold.Claim;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.Holds.Settled;
import io.holdfast.redis.link.Client;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs the application's close handler for what this instance has claimed, and keeps the claims alive meanwhile.
 *
 * <p>The effect comes before the commit, so it happens at least once. A handler that fails is tried again after a pause
 * that doubles, by whichever instance claims it then; after the last attempt it is a dead letter. A failure of category RETRY
 * says that nothing is wrong with this session (its target is down): it does not count, and this instance claims
 * nothing for a while. A handler that runs longer than the limit loses its claim and is interrupted; while it does not
 * return, it keeps its place among the closers, so that handlers that never return cannot pile up without bound.
 */
final class Closers implements Duty {

    private static final System.Logger LOG = System.getLogger(Closers.class.getName());
    private static final Duration LONGEST_RETRY_PAUSE = Duration.ofMinutes(5);
    private static final Duration LONGEST_CLAIM_PAUSE = Duration.ofSeconds(30);

    private final String name;
    private final Client client;
    private final Holds holds;
    private final SessionHandlers handlers;
    private final SessionFigures figures;
    private final SessionRules rules;
    private final AtomicInteger free;
    private final Set<Running> running = ConcurrentHashMap.newKeySet();
    private volatile long pausedUntilNanos;
    private final AtomicInteger passingFailures = new AtomicInteger();
    private volatile Runnable whenFree = () -> {};

    Closers(
            String name,
            Client client,
            Holds holds,
            SessionHandlers handlers,
            SessionFigures figures,
            SessionRules rules) {
        this.name = name;
        this.client = client;
        this.holds = holds;
        this.handlers = handlers;
        this.figures = figures;
        this.rules = rules;
        this.free = new AtomicInteger(handlers.onClose == null ? 0 : rules.closers());
        this.pausedUntilNanos = client.time().nanoTime();
    }

    /** How many more handlers may run; none if the application gave no handler. */
    int free() {
        return free.get();
    }

    boolean isPaused() {
        return client.time().nanoTime() - pausedUntilNanos < 0;
    }

    void whenFree(Runnable task) {
        whenFree = task;
    }

    void close(Claim claim) {
        Consumer<SessionClaim> onClose = handlers.onClose;
        if (onClose == null) {
            return;
        }
        free.decrementAndGet();
        Running one = new Running(claim, client.time().nanoTime());
        running.add(one);
        try {
            handlers.executor.execute(() -> run(one, onClose));
        } catch (RuntimeException e) {
            // The executor refused: nothing is wrong with this session, and it was not even tried.
            one.settlement = later(claim);
            Level level = passingFailures.get() == 1 ? Level.WARNING : Level.DEBUG;
            LOG.log(level, () -> name + ": the executor refused a close handler: " + e);
            settle(one);
        }
    }

    private void run(Running one, Consumer<SessionClaim> onClose) {
        Claim claim = one.claim;
        one.thread = Thread.currentThread();
        try {
            onClose.accept(new SessionClaim(
                    claim.id(), claim.epoch(), claim.token(), claim.attempt(), claim.evidence(), claim.data()));
            passingFailures.set(0);
            one.effect = true;
            one.settlement = () -> holds.commit(claim);
        } catch (Throwable failure) {
            one.settlement = failed(claim, failure);
        } finally {
            one.thread = null;
        }
        Thread.interrupted(); // the limit may have passed in the last moment
        settle(one);
    }

    private Supplier<Settled> failed(Claim claim, Throwable failure) {
        figures.failed.increment();
        if (failure instanceof HoldfastException e && e.isRetryable()) {
            return later(claim);
        }
        LOG.log(
                Level.WARNING,
                () -> "closing session '" + claim.id() + "' of '" + holds.set().name() + "' failed, attempt "
                        + claim.attempt() + " of " + rules.attempts() + ": " + failure);
        LOG.log(Level.DEBUG, "the failure in full", failure);
        long pause = doubled(rules.retryPause(), claim.attempt(), LONGEST_RETRY_PAUSE)
                .toMillis();
        return () -> holds.retry(claim, pause);
    }

    /** Gives the claim back, as an attempt that does not count, and claims nothing for a while. */
    private Supplier<Settled> later(Claim claim) {
        Duration pause = doubled(rules.retryPause(), passingFailures.incrementAndGet(), LONGEST_CLAIM_PAUSE);
        pausedUntilNanos = client.time().nanoTime() + pause.toNanos();
        return () -> holds.later(claim, pause.toMillis());
    }

    private static Duration doubled(Duration first, int times, Duration longest) {
        Duration pause = first.multipliedBy(1L << Math.min(times - 1, 20));
        return pause.compareTo(longest) > 0 ? longest : pause;
    }

    /**
     * Tells the store what became of the claim; if it cannot be reached, {@link #step} does it later. Answers whether there was
     * an answer.
     */
    private boolean settle(Running one) {
        Supplier<Settled> settlement = one.settlement;
        if (settlement == null || !one.settling.tryLock()) {
            return true;
        }
        try {
            Settled settled = settlement.get();
            finished(one);
            count(one.claim, settled, one.effect);
            return true;
        } catch (HoldfastException e) {
            if (!e.isRetryable()) {
                finished(one);
                LOG.log(Level.WARNING, () -> "the close of session '" + one.claim.id() + "' could not be noted", e);
            }
            return false;
        } finally {
            one.settling.unlock();
        }
    }

    private void count(Claim claim, Settled settled, boolean effect) {
        switch (settled) {
            case DONE -> {
                if (effect) {
                    figures.closed.increment();
                    tell(claim);
                }
            }
            case DEAD_LETTER -> figures.deadLetters.increment();
            case STALE, ALREADY -> figures.staleCommits.increment();
        }
    }

    private void tell(Claim claim) {
        if (!client.notices().isEmpty()) {
            client.notices().onReclaimed(holds.set().reclaimed(claim, ReclaimReason.CLOSED, client.self()));
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

    /**
     * Renews the claims of handlers that still run, and settles what could not be settled. A shard that does not answer once is
     * left alone until the next step: the claims of the others cannot wait for as many time-outs as it has claims.
     */
    @Override
    public Step step() {
        long now = client.time().nanoTime();
        long third = rules.claim().dividedBy(3).toNanos();
        long done = 0;
        Set<Integer> silent = new HashSet<>();
        for (Running one : running) {
            int shard = holds.set().shardOf(one.claim.id());
            boolean answered = true;
            if (one.settlement == null
                    && now - one.startedNanos > rules.handlerLimit().toNanos()) {
                one.giveUp();
            } else if (silent.contains(shard)) {
                continue;
            } else if (one.settlement != null) {
                answered = settle(one);
            } else if (now - one.renewedNanos >= third) {
                answered = renew(one, now);
                done++;
            }
            if (!answered) {
                silent.add(shard);
            }
        }
        return Step.restFor(
                done, Duration.ofNanos(Math.min(third / 2, Duration.ofSeconds(1).toNanos())));
    }

    private boolean renew(Running one, long now) {
        try {
            if (holds.renew(one.claim) != Settled.DONE) {
                one.giveUp();
            }
            one.renewedNanos = now;
            return true;
        } catch (HoldfastException e) {
            LOG.log(Level.DEBUG, () -> "the claim on session '" + one.claim.id() + "' was not renewed: " + e);
            return false;
        }
    }

    int runningCount() {
        return running.size();
    }

    private static final class Running {
        final Claim claim;
        final long startedNanos;
        final ReentrantLock settling = new ReentrantLock();
        long renewedNanos;
        volatile @Nullable Supplier<Settled> settlement;
        volatile @Nullable Thread thread;
        /** Whether the handler did its work. */
        volatile boolean effect;

        private boolean givenUp;

        Running(Claim claim, long now) {
            this.claim = claim;
            this.startedNanos = now;
            this.renewedNanos = now;
        }

        /** The claim is lost: the handler is asked to stop. */
        void giveUp() {
            Thread runner = thread;
            if (!givenUp && runner != null) {
                givenUp = true;
                runner.interrupt();
            }
        }
    }
}
