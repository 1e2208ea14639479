package io.holdfast;

import java.time.Duration;
import java.time.Instant;

/**
 * A hold with a deadline. The holder renews it; when the deadline passes it lapses, for good. The deadline is in the
 * store's time: holders compare it with the store's clock, never with their own.
 */
public record Lease(HolderId holder, Duration length, Instant deadline) {

    public Lease {
        if (length.isNegative() || length.isZero()) {
            throw HoldfastException.misuse("lease of " + length + " is not positive", "give a lease longer than zero");
        }
    }

    /** Whether the lease has lapsed at the given time of the store. */
    public boolean lapsedAt(Instant now) {
        return !now.isBefore(deadline);
    }

    /** How long the lease still runs; zero once lapsed. */
    public Duration remainingAt(Instant now) {
        return lapsedAt(now) ? Duration.ZERO : Duration.between(now, deadline);
    }

    /** The lease after a renewal at the given time; a lapsed lease cannot be renewed. */
    public Lease renewedAt(Instant now) {
        if (lapsedAt(now)) {
            throw new HoldfastException(
                    HoldfastException.Category.LAPSED, "the lease of " + holder + " lapsed at " + deadline);
        }
        return new Lease(holder, length, now.plus(length));
    }
}
