package io.holdfast.app.serve;

import io.holdfast.HoldfastException;
import io.holdfast.Time;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Keeps the turn to sweep through a long cycle. A Redis that does not answer for a moment ends nothing: the turn is ours
 * until its lease is over, and before anything is trashed it is asked for once more.
 */
final class TurnKeeper {

    private static final Duration PAUSE = Duration.ofMillis(200);

    private final BooleanSupplier renew;
    private final Duration lease;
    private final Time time;
    private final ReentrantLock renewing = new ReentrantLock();
    private volatile long nextNanos;

    /** @param renew whether the turn is still ours; renews it */
    TurnKeeper(BooleanSupplier renew, Duration lease, Time time) {
        this.renew = renew;
        this.lease = lease;
        this.time = time;
        this.nextNanos = time.nanoTime() + lease.toNanos() / 3;
    }

    /** To be called often while the work goes on, by any thread of it: none waits while another one asks. */
    void keep() {
        if (time.nanoTime() - nextNanos < 0 || !renewing.tryLock()) {
            return;
        }
        try {
            var _ = renew.getAsBoolean(); // if it is lost, isOurs() says so in time
            nextNanos = time.nanoTime() + lease.toNanos() / 3;
        } catch (HoldfastException e) {
            if (!e.isRetryable()) {
                throw e;
            }
            nextNanos = time.nanoTime() + lease.toNanos() / 12;
        } finally {
            renewing.unlock();
        }
    }

    /** Whether the turn is still ours; tries for a third of its lease to get an answer. */
    boolean isOurs() {
        long deadline = time.nanoTime() + lease.toNanos() / 3;
        while (true) {
            try {
                return renew.getAsBoolean();
            } catch (HoldfastException e) {
                if (!e.isRetryable() || time.nanoTime() - deadline >= 0) {
                    throw e;
                }
                LockSupport.parkNanos(PAUSE.toNanos());
            }
        }
    }
}
