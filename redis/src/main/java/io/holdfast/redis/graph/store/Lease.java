package io.holdfast.redis.graph.store;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.redis.lease.LeaseTrust;
import java.time.Duration;

/** One lease of this process on a graph, and what the process may believe of it. */
public final class Lease {

    private final String name;
    private final Duration length;
    private final Time time;
    private final LeaseTrust trust;
    private volatile boolean lost;

    Lease(String name, Duration length, Time time) {
        this.name = name;
        this.length = length;
        this.time = time;
        this.trust = new LeaseTrust(length, time);
    }

    public String name() {
        return name;
    }

    public Duration length() {
        return length;
    }

    void taken(long sentNanos, String run) {
        trust.taken(sentNanos, run);
    }

    void renewed(long sentNanos, String run) {
        trust.renewed(sentNanos, run);
    }

    /** The server does not know it. */
    void lose() {
        lost = true;
    }

    /** Whether the server surely has not let it lapse, on the monotonic clock. */
    public boolean isValid() {
        return !lost && trust.untilNanos() - time.nanoTime() > 0;
    }

    /** A third of its length after the last renewal. */
    Duration untilRenewal() {
        return Duration.ofNanos(trust.untilNanos() - length.toNanos() * 2 / 3 - time.nanoTime());
    }

    /** Refuses to go on under a lease that may have lapsed. */
    public void check() {
        if (!isValid()) {
            throw lapsed();
        }
    }

    public HoldfastException lapsed() {
        return new HoldfastException(
                Category.LAPSED,
                "lease " + name + " has lapsed: it was not renewed for " + length.toMillis()
                        + " ms, or the server went back",
                "open a new writer, hold or snapshot and repeat the work under it",
                null);
    }
}
