package io.holdfast;

import java.time.Duration;
import java.time.Instant;

/**
 * Time that stands still until it is told to move: for tests of Holdfast and of what uses it. The wall clock can also
 * be set wrong on purpose, which leaves the monotonic one alone.
 */
public final class ManualTime implements Time {

    private Instant wall = Instant.parse("2026-01-01T00:00:00Z");
    private long nanos = 1_000_000_000L;

    @Override
    public synchronized Instant instant() {
        return wall;
    }

    @Override
    public synchronized long nanoTime() {
        return nanos;
    }

    /** Moves both clocks forward. */
    public synchronized void advance(Duration by) {
        if (by.isNegative()) {
            throw new IllegalArgumentException("time does not go back: " + by);
        }
        wall = wall.plus(by);
        nanos += by.toNanos();
    }

    /** Sets the wall clock alone, as an operator or a time server may at any moment. */
    public synchronized void setWall(Instant to) {
        wall = to;
    }
}
