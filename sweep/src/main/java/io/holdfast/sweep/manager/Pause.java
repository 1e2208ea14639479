package io.holdfast.sweep.manager;

import java.time.Duration;

/** How the manager waits; a test lets the rest of the world go on instead. */
@FunctionalInterface
public interface Pause {

    /** Waits until the monitor, which the caller has, is notified, at most so long. */
    void await(Object monitor, Duration atMost) throws InterruptedException;

    @SuppressWarnings("WaitNotInLoop") // the callers loop, each over a condition of its own
    Pause REAL = (monitor, atMost) -> monitor.wait(Math.max(1, atMost.toMillis()));
}
