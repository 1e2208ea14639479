package io.holdfast.redis.graph;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import java.security.SecureRandom;
import java.time.Duration;

/**
 * One lease of this process on a graph: its id, its length, and until when this process may rely on it. That is
 * counted on the monotonic clock from the moment before the call that took or renewed it, so this side always stops
 * relying on a lease before the server lets it lapse.
 */
final class GraphLease {

    private static final SecureRandom RANDOM = new SecureRandom();

    private final byte[] id = new byte[8];
    private final Duration length;
    private final String what;
    private final Time time;
    private volatile long validUntilNanos;
    private volatile long renewedNanos;
    private volatile String born = "";
    private volatile boolean lost;

    GraphLease(Duration length, String what, Time time) {
        RANDOM.nextBytes(id);
        this.length = length;
        this.what = what;
        this.time = time;
        renewedFrom(time.nanoTime());
    }

    byte[] id() {
        return id;
    }

    /** When the server made it, in its own time; empty before that. */
    String born() {
        return born;
    }

    void bornAt(String serverMicros) {
        born = serverMicros;
    }

    Duration length() {
        return length;
    }

    /** The server answered a call that was sent at {@code sentNanos}: the lease runs at least its length from there. */
    void renewedFrom(long sentNanos) {
        renewedNanos = sentNanos;
        validUntilNanos = sentNanos + length.toNanos();
    }

    /** The server does not know the lease, or no longer. */
    void lose() {
        lost = true;
    }

    boolean isLost() {
        return lost;
    }

    boolean isValid() {
        return !lost && validUntilNanos - time.nanoTime() > 0;
    }

    /** How long until it should be renewed: a third of its length after the last time. */
    Duration untilRenewal() {
        return Duration.ofNanos(renewedNanos + length.toNanos() / 3 - time.nanoTime());
    }

    /** Refuses to go on under a lease that may have lapsed. */
    void check() {
        if (!isValid()) {
            throw lapsed();
        }
    }

    HoldfastException lapsed() {
        return new HoldfastException(
                Category.LAPSED,
                "the " + what + " has lapsed: it was not renewed for " + length.toMillis() + " ms",
                "open a new " + what + " and repeat the work under it",
                null);
    }
}
