package io.holdfast.redis.lease;

import io.holdfast.Time;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What a holder may believe of its lease, on its own monotonic clock.
 *
 * <p>The lease is trusted for 99 % of its length, from when the renewal was <i>sent</i>: the server counts from a later moment, and
 * the two clocks may drift apart by one percent. So the holder gives up before the server does.
 *
 * <p>A doubt is added whenever the server may no longer know what is held: a renewal was answered by another run of the server, or
 * the lease was lost and taken anew. The holder then asserts again what it holds, and settles the doubts that it has seen.
 *
 * <p>Changed by one thread at a time, read by any.
 */
public final class LeaseTrust {

    private final Time time;
    private final long trustedNanos;
    private volatile String run = "";
    /** The server's time in its last reply, and the time here when that came. */
    private volatile long serverMillis;

    private volatile long serverNanos;
    private volatile long untilNanos;
    private final AtomicInteger doubts = new AtomicInteger();
    private volatile int settledDoubts;

    public LeaseTrust(Duration length, Time time) {
        this.time = time;
        this.trustedNanos = length.toNanos() / 100 * 99;
        this.untilNanos = time.nanoTime();
    }

    /** Notes the server's time, as a reply gave it. */
    public void heard(long nowMillis) {
        serverMillis = nowMillis;
        serverNanos = time.nanoTime();
    }

    /** What the server's clock shows now, by its last reply. */
    public long serverMillisAt(long nanos) {
        return serverMillis + Math.max(0, nanos - serverNanos) / 1_000_000;
    }

    /** The lease was taken, by a call that was sent at that time. */
    public void taken(long sentNanos, String byRun) {
        untilNanos = sentNanos + trustedNanos;
        run = byRun;
    }

    /**
     * The lease was renewed, by a call that was sent at that time.
     *
     * @return false if another run of the server replied: it may not know what is held
     */
    public boolean renewed(long sentNanos, String byRun) {
        untilNanos = sentNanos + trustedNanos;
        if (byRun.equals(run)) {
            return true;
        }
        run = byRun;
        doubt();
        return false;
    }

    /** The server may no longer know what is held. */
    public void doubt() {
        doubts.incrementAndGet();
    }

    public long untilNanos() {
        return untilNanos;
    }

    /** Grows with each doubt. */
    public int doubts() {
        return doubts.get();
    }

    public boolean isDoubtful() {
        return doubts.get() != settledDoubts;
    }

    /** What is held was asserted again after so many doubts. */
    public void settleDoubts(int seen) {
        settledDoubts = seen;
    }
}
