package io.holdfast.redis.aggregate;

import org.jspecify.annotations.Nullable;

/** One addition, kept until it is durable. Guarded by the lock of its table, but for what its progress keeps. */
final class Update<T> {

    /** Null for an echo: delivered again while the first one is still on its way. */
    final @Nullable T value;

    /** The ordered source and the position there; null and -1 without. */
    final @Nullable SourceProgress progress;

    final long position;
    /** The digest of an update of an unordered source. */
    final byte @Nullable [] id;

    final long eventMillis;
    /** Guarded by the progress. */
    boolean durable;

    static final long NO_EVENT_TIME = Long.MIN_VALUE;

    Update(@Nullable T value, @Nullable SourceProgress progress, long position, byte @Nullable [] id, long millis) {
        this.value = value;
        this.progress = progress;
        this.position = position;
        this.id = id;
        this.eventMillis = millis;
    }

    Tally tally() {
        if (value == null) {
            return Tally.NONE;
        }
        return eventMillis == NO_EVENT_TIME
                ? new Tally(1, Long.MAX_VALUE, Long.MIN_VALUE)
                : new Tally(1, eventMillis, eventMillis);
    }
}
