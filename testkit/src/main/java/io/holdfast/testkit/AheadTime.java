package io.holdfast.testkit;

import io.holdfast.Time;
import java.time.Duration;
import java.time.Instant;

/**
 * The clocks of this JVM, ahead by what a test has let pass. For tests beside a real server whose clock cannot be stopped:
 * when the machine stands still for a moment, both sides see it.
 */
public final class AheadTime implements Time {

    private volatile long aheadNanos;

    @Override
    public Instant instant() {
        return Instant.now().plusNanos(aheadNanos);
    }

    @Override
    public long nanoTime() {
        return System.nanoTime() + aheadNanos;
    }

    /** Moves both clocks forward. */
    public synchronized void advance(Duration by) {
        if (by.isNegative()) {
            throw new IllegalArgumentException("time does not go back: " + by);
        }
        aheadNanos += by.toNanos();
    }
}
