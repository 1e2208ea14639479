package io.holdfast;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The record of what is gone. Bounded in size: the oldest records make way. An empty answer of {@link #find} means
 * "nothing is known", not "it was never reclaimed".
 */
public interface Ledger {

    void append(Reclaimed reclaimed);

    /** The newest record that tells of the thing. */
    Optional<Reclaimed> find(ThingId thing);

    /** Up to {@code limit} of the records made at or after {@code from}, oldest first. */
    List<Reclaimed> since(Instant from, int limit);

    /** A ledger in this process's memory that keeps the newest {@code capacity} records. */
    static Ledger inMemory(int capacity) {
        return new InMemoryLedger(capacity);
    }
}
