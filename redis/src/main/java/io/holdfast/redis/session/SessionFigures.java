package io.holdfast.redis.session;

import java.util.concurrent.atomic.LongAdder;

/** What this instance has counted since it started. Read by {@link SessionMeters}, or by anybody. */
public final class SessionFigures {

    final LongAdder acquired = new LongAdder();
    final LongAdder released = new LongAdder();
    final LongAdder orphans = new LongAdder();
    final LongAdder lapsedLeases = new LongAdder();
    final LongAdder lapsedHolds = new LongAdder();
    final LongAdder mistaken = new LongAdder();
    final LongAdder closed = new LongAdder();
    final LongAdder failed = new LongAdder();
    final LongAdder deadLetters = new LongAdder();
    final LongAdder staleCommits = new LongAdder();
    final LongAdder lost = new LongAdder();
    final LongAdder regained = new LongAdder();
    /** Acquires by how many holders the session then had: 1 to 8, and 9 for more. */
    final LongAdder[] holders = new LongAdder[10];

    volatile long orphansInLastCycle;

    SessionFigures() {
        for (int i = 0; i < holders.length; i++) {
            holders[i] = new LongAdder();
        }
    }

    void acquired(int holderCount) {
        acquired.increment();
        holders[Math.clamp(holderCount, 0, 9)].increment();
    }

    /** Sessions that this instance has begun to serve. */
    public long acquired() {
        return acquired.sum();
    }

    /** Sessions that it has stopped serving, on purpose. */
    public long released() {
        return released.sum();
    }

    /** Sessions without holder that it has claimed for the first time. */
    public long orphans() {
        return orphans.sum();
    }

    /** The same, of the last round of claims. */
    public long orphansInLastCycle() {
        return orphansInLastCycle;
    }

    /** Leases, of whatever instance, that this one found lapsed. */
    public long lapsedLeases() {
        return lapsedLeases.sum();
    }

    /** Holds that were released because their lease had lapsed. */
    public long lapsedHolds() {
        return lapsedHolds.sum();
    }

    /** Records that contradicted themselves: the modern form of a negative count. Always zero, or there is a bug. */
    public long negatives() {
        return mistaken.sum();
    }

    /** Sessions that this instance has closed. */
    public long closed() {
        return closed.sum();
    }

    /** Attempts to close that failed. */
    public long failed() {
        return failed.sum();
    }

    public long deadLetters() {
        return deadLetters.sum();
    }

    /** Closes that were done by another instance before this one was ready. */
    public long staleCommits() {
        return staleCommits.sum();
    }

    public long lost() {
        return lost.sum();
    }

    public long regained() {
        return regained.sum();
    }

    /** How many acquires found the given number of holders, itself included; 9 stands for 9 and more. */
    public long acquiresWithHolders(int count) {
        return holders[Math.clamp(count, 0, 9)].sum();
    }
}
