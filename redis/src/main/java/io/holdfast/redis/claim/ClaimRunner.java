package io.holdfast.redis.claim;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import io.holdfast.Time;
import io.holdfast.redis.hold.Claim;
import io.holdfast.redis.hold.HoldSet;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.Settlement;
import io.holdfast.redis.hold.Settlement.Result;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.random.RandomGenerator;

/**
 * Works off what this instance has claimed, and keeps the claims alive meanwhile.
 *
 * <p><b>The effect comes before the commit</b>, so it happens at least once. A failure is tried again after a pause that
 * doubles, by whichever instance claims it then; after {@link ClaimRules#failuresMax} failures it is a dead letter. A failure
 * of category RETRY means that nothing is wrong with the claim (its target is down): nothing counts, and this instance claims
 * nothing for a while. A claim whose holder dies counts apart, and leaves room for many more.
 *
 * <p><b>Places are bounded.</b> A job keeps its place while it waits in the executor, runs, or the store has not answered what
 * became of it. Work that runs longer than the limit is interrupted and reported as failed; while it does not return it keeps
 * its place, and the log names it. Claims that wait in the executor for as long are given back.
 *
 * <p><b>Claims are renewed together</b>, those that wait in the executor too, in one round trip to each server. A claim that
 * another instance has taken over is not worked off; where work runs, its thread is interrupted.
 */
public final class ClaimRunner implements Duty {

    private static final System.Logger LOG = System.getLogger(ClaimRunner.class.getName());
    private static final Duration LONGEST_RETRY_PAUSE = Duration.ofMinutes(5);
    private static final Duration LONGEST_CLAIM_PAUSE = Duration.ofSeconds(30);

    /** What is done with claims: for each one it says what became of it, or is left to run out. */
    @FunctionalInterface
    public interface Work {
        void run(Job job);
    }

    private final String name;
    private final Holds holds;
    private final ClaimRules rules;
    private final Executor executor;
    private final Time time;
    private final RandomGenerator random;
    private final BiConsumer<Settlement, Result> onSettled;
    private final AtomicInteger free;
    private final AtomicLong numbers = new AtomicLong();
    /** In the order in which they were claimed. */
    private final ConcurrentSkipListMap<Long, Job> jobs = new ConcurrentSkipListMap<>();

    private final AtomicInteger passingFailures = new AtomicInteger();
    private volatile long pausedUntilNanos;
    private volatile boolean draining;
    private volatile Runnable whenFree = () -> {};

    /** @param onSettled told what the store answered, for each claim that is settled */
    public ClaimRunner(
            String name,
            Holds holds,
            ClaimRules rules,
            Executor executor,
            Time time,
            RandomGenerator random,
            BiConsumer<Settlement, Result> onSettled) {
        this.name = name;
        this.holds = holds;
        this.rules = rules;
        this.executor = executor;
        this.time = time;
        this.random = random;
        this.onSettled = onSettled;
        this.free = new AtomicInteger(rules.places());
        this.pausedUntilNanos = time.nanoTime();
    }

    /** How many more jobs may begin; none while nothing is to be claimed. */
    public int free() {
        return draining || time.nanoTime() - pausedUntilNanos < 0 ? 0 : Math.max(0, free.get());
    }

    /** Called when a place becomes free after there was none. */
    public void whenFree(Runnable task) {
        whenFree = task;
    }

    public int running() {
        return jobs.size();
    }

    /** After so many times in a row that work was put off; 0 since one succeeded. */
    public int passingFailures() {
        return passingFailures.get();
    }

    /** Work succeeded: its target is there. */
    public void succeeded() {
        passingFailures.set(0);
    }

    /** Begins a job, in the executor. */
    public void start(List<Claim> claims, Work work) {
        free.decrementAndGet();
        Job job = new Job(this, numbers.incrementAndGet(), claims, time.nanoTime(), trustedNanos());
        jobs.put(job.number, job);
        try {
            executor.execute(() -> run(job, work));
        } catch (RuntimeException e) {
            Level level = passingFailures.get() == 0 ? Level.WARNING : Level.DEBUG;
            LOG.log(level, () -> name + ": the executor refused work, which is put off: " + e);
            putOff(job, claims, e);
            job.end();
            finish(job);
        }
    }

    /** Gives claims back that must not be worked off now, and claims nothing for a while. */
    public void giveBack(List<Claim> claims, String why) {
        if (claims.isEmpty()) {
            return;
        }
        free.decrementAndGet();
        Job job = new Job(this, numbers.incrementAndGet(), claims, time.nanoTime(), trustedNanos());
        jobs.put(job.number, job);
        putOff(job, claims, new HoldfastException(HoldfastException.Category.RETRY, why));
        job.end();
        finish(job);
    }

    private void giveBack(Job job) {
        List<Settlement> all = job.claims().stream()
                .map(claim -> Settlement.later(claim, 0))
                .filter(job::settling)
                .toList();
        tellAll(job, all);
    }

    private void run(Job job, Work work) {
        try {
            if (job.begin(time.nanoTime())) {
                work.run(job);
            }
        } catch (RuntimeException | Error e) {
            LOG.log(
                    Level.WARNING,
                    () -> name + ": work ended with a failure; its claims run out and are given anew",
                    e);
        } finally {
            job.end();
            finish(job);
        }
    }

    private long trustedNanos() {
        return rules.claim().toNanos() / 100 * 99;
    }

    private void finish(Job job) {
        if (job.isOver() && jobs.remove(job.number, job)) {
            if (free.incrementAndGet() == 1) {
                whenFree.run();
            }
            synchronized (jobs) {
                jobs.notifyAll();
            }
        }
    }

    void failed(Job job, Claim claim, Throwable failure) {
        if (failure instanceof HoldfastException e && e.isRetryable()) {
            putOff(job, List.of(claim), failure);
            return;
        }
        LOG.log(
                Level.WARNING,
                () -> label(claim) + " failed, failure " + (claim.failures() + 1) + " of " + rules.failuresMax() + ": "
                        + failure);
        LOG.log(Level.DEBUG, "the failure in full", failure);
        Duration pause = BackOff.pause(rules.retryPause(), claim.failures() + 1, LONGEST_RETRY_PAUSE, random);
        job.settle(Settlement.retry(claim, pause.toMillis(), failure.toString()));
    }

    void putOff(Job job, List<Claim> claims, Throwable why) {
        int times = passingFailures.incrementAndGet();
        Duration pause = BackOff.pause(rules.retryPause(), times, LONGEST_CLAIM_PAUSE, random);
        pausedUntilNanos = time.nanoTime() + pause.toNanos();
        LOG.log(
                times == 1 ? Level.INFO : Level.DEBUG,
                () -> name + ": " + claims.size() + " claims are put off, again in " + pause.toMillis() + " ms: "
                        + why);
        List<Settlement> all = claims.stream()
                .map(claim -> Settlement.later(claim, pause.toMillis()))
                .filter(job::settling)
                .toList();
        tellAll(job, all);
    }

    /** Settles a claim; if the store does not answer, {@link #step} does it again. */
    void settle(Job job, Settlement settlement) {
        if (job.settling(settlement)) {
            tell(job, settlement);
        }
    }

    private void tell(Job job, Settlement settlement) {
        try {
            answered(job, settlement, holds.settle(settlement));
        } catch (HoldfastException e) {
            if (!e.isRetryable()) {
                LOG.log(
                        Level.WARNING,
                        () -> label(settlement.claim())
                                + ": storing its result failed; the claim runs out and is given anew",
                        e);
                job.settled(settlement);
            }
        }
    }

    private void tellAll(Job job, List<Settlement> settlements) {
        if (settlements.isEmpty()) {
            return;
        }
        Map<Claim, Result> results = holds.settleAll(settlements);
        for (Settlement settlement : settlements) {
            Result result = results.get(settlement.claim());
            if (result != null) {
                answered(job, settlement, result);
            }
        }
    }

    private void answered(Job job, Settlement settlement, Result result) {
        job.settled(settlement);
        if (result == Result.DEAD_LETTER) {
            LOG.log(Level.WARNING, () -> label(settlement.claim()) + " is a dead letter: " + settlement.reason());
        }
        onSettled.accept(settlement, result);
    }

    private String label(Claim claim) {
        HoldSet set = holds.set();
        return set.kind().word() + " '" + claim.id() + "' of '" + set.name() + "' epoch " + claim.epoch();
    }

    @Override
    public String name() {
        return name;
    }

    /** Renews claims, ends work that runs for too long, and settles what could not be settled. */
    @Override
    public Step step() {
        long third = rules.claim().dividedBy(3).toNanos();
        jobs.values().forEach(this::endOverdue);
        long renewed = renew(third);
        settleAgain();
        return Step.restFor(
                renewed,
                Duration.ofNanos(Math.min(third / 2, Duration.ofSeconds(1).toNanos())));
    }

    private void endOverdue(Job job) {
        if (job.waitsTooLong(time.nanoTime(), rules.limit().toNanos())) {
            LOG.log(
                    Level.WARNING,
                    () -> name + ": the executor has not begun work within "
                            + rules.limit().toMillis() + " ms; its claims are given back: "
                            + label(job.claims().getFirst()));
            giveBack(job);
        }
        if (job.becomesOverdue(time.nanoTime(), rules.limit().toNanos())) {
            long stuck = jobs.values().stream().filter(Job::isOverdue).count();
            for (Claim claim : job.claims()) {
                LOG.log(
                        Level.WARNING,
                        () -> label(claim) + ": its handler has run for more than "
                                + rules.limit().toMillis()
                                + " ms and was interrupted; it keeps its place until it returns (" + stuck + " of "
                                + rules.places() + " places are kept so)");
                failed(
                        job,
                        claim,
                        new IllegalStateException("the handler did not return within "
                                + rules.limit().toMillis() + " ms"));
            }
        }
    }

    private long renew(long everyNanos) {
        long now = time.nanoTime();
        List<Job> due = jobs.values().stream()
                .filter(job -> job.wantsRenewal(now, everyNanos))
                .toList();
        List<Claim> claims = due.stream().flatMap(job -> job.claims().stream()).toList();
        if (claims.isEmpty()) {
            return 0;
        }
        Map<Claim, Result> results = holds.renewAll(claims);
        for (Job job : due) {
            boolean answered = true;
            for (Claim claim : job.claims()) {
                Result result = results.get(claim);
                answered &= result != null;
                if (result != null && result != Result.DONE) {
                    job.lost(claim);
                }
            }
            if (answered) {
                job.renewed(now, trustedNanos());
            }
        }
        return claims.size();
    }

    private void settleAgain() {
        Map<Settlement, Job> waiting = new LinkedHashMap<>();
        for (Job job : jobs.values()) {
            job.unsettled(time.nanoTime()).forEach(settlement -> waiting.put(settlement, job));
        }
        if (!waiting.isEmpty()) {
            Map<Claim, Result> results = holds.settleAll(waiting.keySet());
            waiting.forEach((settlement, job) -> {
                Result result = results.get(settlement.claim());
                if (result != null) {
                    answered(job, settlement, result);
                }
            });
        }
        jobs.values().forEach(this::finish);
    }

    /**
     * Takes nothing more, gives back what has not begun, and waits for what runs, up to the limit. The duty must still run, so
     * that claims are renewed meanwhile.
     */
    public void drain(Duration limit) {
        draining = true;
        for (Job job : jobs.values()) {
            if (!job.isBegun()) {
                giveBack(job);
            }
        }
        long deadline = System.nanoTime() + limit.toNanos();
        synchronized (jobs) {
            while (jobs.values().stream().anyMatch(Job::isBegun)) {
                long left = (deadline - System.nanoTime()) / 1_000_000;
                if (left <= 0) {
                    LOG.log(
                            Level.WARNING,
                            () -> name + ": " + jobs.size() + " handlers still run after " + limit.toMillis()
                                    + " ms; their claims run out and are given anew");
                    return;
                }
                try {
                    jobs.wait(left);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return;
                }
            }
        }
    }
}
