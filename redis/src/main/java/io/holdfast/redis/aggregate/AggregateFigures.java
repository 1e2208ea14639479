package io.holdfast.redis.aggregate;

import java.util.concurrent.atomic.LongAdder;

/** What this instance has counted since it started. Read by {@link AggregateMeters}, or by anybody. */
public final class AggregateFigures {

    final LongAdder updates = new LongAdder();
    final LongAdder duplicates = new LongAdder();
    final LongAdder refused = new LongAdder();
    final LongAdder published = new LongAdder();
    final LongAdder publishedBytes = new LongAdder();
    final LongAdder unanswered = new LongAdder();
    final LongAdder carried = new LongAdder();
    final LongAdder full = new LongAdder();
    final LongAdder left = new LongAdder();
    final LongAdder lapsedLeases = new LongAdder();
    final LongAdder frozen = new LongAdder();
    final LongAdder mistaken = new LongAdder();
    final LongAdder flushed = new LongAdder();
    final LongAdder failed = new LongAdder();
    final LongAdder deadLetters = new LongAdder();
    final LongAdder staleCommits = new LongAdder();
    volatile long waitingBytes;

    AggregateFigures() {}

    /** Updates that were added here. */
    public long updates() {
        return updates.sum();
    }

    /** Updates that had been counted before: delivered again. */
    public long duplicates() {
        return duplicates.sum();
    }

    /** Updates that could not be published: too large, or the codec or the merge function failed. */
    public long refused() {
        return refused.sum();
    }

    /** Parts that were published. */
    public long published() {
        return published.sum();
    }

    public long publishedBytes() {
        return publishedBytes.sum();
    }

    /** Publishes of a part that got no answer and were sent again. */
    public long unanswered() {
        return unanswered.sum();
    }

    /** Updates that came too late for their epoch and went into the next one. */
    public long carried() {
        return carried.sum();
    }

    /** Publishes that were refused because too much waits for the sink. */
    public long full() {
        return full.sum();
    }

    /** Keys that this instance has left: not used for a soft window, or to make room in its table. */
    public long left() {
        return left.sum();
    }

    /** Leases, of whatever instance, that this one found lapsed. */
    public long lapsedLeases() {
        return lapsedLeases.sum();
    }

    /** Epochs that this instance ended because their hard window was over. */
    public long frozen() {
        return frozen.sum();
    }

    /** Records that contradicted themselves. Always zero, or there is a bug. */
    public long negatives() {
        return mistaken.sum();
    }

    /** Epochs that this instance has written to the sink. */
    public long flushed() {
        return flushed.sum();
    }

    /** Flushes of an epoch that failed. */
    public long failed() {
        return failed.sum();
    }

    public long deadLetters() {
        return deadLetters.sum();
    }

    /** Epochs that another instance had flushed before this one was ready. */
    public long staleCommits() {
        return staleCommits.sum();
    }

    /** Bytes of parts in Redis, of all instances, when this one last looked. */
    public long waitingBytes() {
        return waitingBytes;
    }
}
