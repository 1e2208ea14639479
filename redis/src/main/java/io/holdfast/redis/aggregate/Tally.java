package io.holdfast.redis.aggregate;

import java.time.Instant;
import java.util.Optional;

/**
 * What is known of updates beside their values: how many, and their earliest and latest event time in milliseconds
 * (empty: first above last).
 */
record Tally(long updates, long firstMillis, long lastMillis) {

    static final Tally NONE = new Tally(0, Long.MAX_VALUE, Long.MIN_VALUE);

    Tally plus(Tally other) {
        return new Tally(
                updates + other.updates,
                Math.min(firstMillis, other.firstMillis),
                Math.max(lastMillis, other.lastMillis));
    }

    Optional<Instant> first() {
        return firstMillis > lastMillis ? Optional.empty() : Optional.of(Instant.ofEpochMilli(firstMillis));
    }

    Optional<Instant> last() {
        return firstMillis > lastMillis ? Optional.empty() : Optional.of(Instant.ofEpochMilli(lastMillis));
    }
}
