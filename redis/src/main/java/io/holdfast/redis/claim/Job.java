package io.holdfast.redis.claim;

import io.holdfast.redis.hold.Claim;
import io.holdfast.redis.hold.Settlement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Claims that are worked off together, and what is known of each.
 *
 * <pre>
 *   OPEN -- the store says another claim took its place --> LOST
 *   OPEN -- settle --> SETTLING -- the store answered, or the claim ran out --> SETTLED
 * </pre>
 */
public final class Job {

    private enum State {
        OPEN,
        LOST,
        SETTLING,
        SETTLED
    }

    final long number;
    private final ClaimRunner runner;
    private final Map<Claim, State> states = new LinkedHashMap<>();
    private final List<Settlement> unsettled = new ArrayList<>();
    private @Nullable Thread thread;
    private boolean begun;
    private boolean ended;
    private boolean overdue;
    private final long claimedNanos;
    private long begunNanos;
    private long trustedUntilNanos;
    private long renewedNanos;

    Job(ClaimRunner runner, long number, List<Claim> claims, long nowNanos, long trustedNanos) {
        this.runner = runner;
        this.number = number;
        claims.forEach(claim -> states.put(claim, State.OPEN));
        this.claimedNanos = nowNanos;
        this.renewedNanos = nowNanos;
        this.trustedUntilNanos = nowNanos + trustedNanos;
    }

    /** The claims that are this instance's, as far as it knows. */
    public synchronized List<Claim> claims() {
        return states.entrySet().stream()
                .filter(one -> one.getValue() == State.OPEN)
                .map(Map.Entry::getKey)
                .toList();
    }

    /** Tells the store what became of a claim; if there is no answer, the runner repeats it. */
    public void settle(Settlement settlement) {
        runner.settle(this, settlement);
    }

    /** The work on a claim failed: it is tried again, put off, or becomes a dead letter. */
    public void failed(Claim claim, Throwable failure) {
        runner.failed(this, claim, failure);
    }

    /** Nothing is wrong with these claims, but they cannot be worked off now; nothing counts. */
    public void putOff(List<Claim> claims, Throwable why) {
        runner.putOff(this, claims, why);
    }

    /** The claim was settled by other means, or is left to run out. */
    public synchronized void settled(Claim claim) {
        states.put(claim, State.SETTLED);
    }

    /** Whether the work may begin: in the queue of an executor claims may have been lost. */
    synchronized boolean begin(long nowNanos) {
        if (nowNanos - trustedUntilNanos >= 0) {
            states.replaceAll((claim, state) -> state == State.OPEN ? State.LOST : state);
        }
        begun = !claims().isEmpty();
        begunNanos = nowNanos;
        thread = begun ? Thread.currentThread() : null;
        return begun;
    }

    synchronized void end() {
        ended = true;
        thread = null;
        Thread.interrupted(); // the limit may have passed in the last moment
    }

    synchronized boolean isBegun() {
        return begun;
    }

    /** Whether it keeps its place: it waits, runs, or the store has not been told of it. */
    synchronized boolean isOver() {
        return ended && unsettled.isEmpty();
    }

    synchronized boolean settling(Settlement settlement) {
        if (states.get(settlement.claim()) != State.OPEN) {
            return false;
        }
        states.put(settlement.claim(), State.SETTLING);
        unsettled.add(settlement);
        return true;
    }

    synchronized void settled(Settlement settlement) {
        states.put(settlement.claim(), State.SETTLED);
        unsettled.remove(settlement);
    }

    synchronized List<Settlement> unsettled(long nowNanos) {
        if (nowNanos - trustedUntilNanos >= 0) {
            unsettled.clear(); // the claims have run out: they are given anew
        }
        return List.copyOf(unsettled);
    }

    synchronized boolean wantsRenewal(long nowNanos, long everyNanos) {
        return nowNanos - renewedNanos >= everyNanos && !claims().isEmpty();
    }

    synchronized void renewed(long sentNanos, long trustedNanos) {
        renewedNanos = sentNanos;
        trustedUntilNanos = sentNanos + trustedNanos;
    }

    /** The work is asked to stop when none of its claims is left. */
    synchronized void lost(Claim claim) {
        states.put(claim, State.LOST);
        if (claims().isEmpty()) {
            interrupt();
        }
    }

    /** Whether it has just been found to wait in the executor for too long. */
    synchronized boolean waitsTooLong(long nowNanos, long limitNanos) {
        return !begun && !ended && nowNanos - claimedNanos > limitNanos && !claims().isEmpty();
    }

    /** Whether it has just been found to run for too long. */
    synchronized boolean becomesOverdue(long nowNanos, long limitNanos) {
        if (!begun || ended || overdue || nowNanos - begunNanos <= limitNanos) {
            return false;
        }
        overdue = true;
        interrupt();
        return true;
    }

    synchronized boolean isOverdue() {
        return overdue && !ended;
    }

    private void interrupt() {
        if (thread != null) {
            thread.interrupt();
        }
    }
}
