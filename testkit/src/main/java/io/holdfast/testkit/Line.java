package io.holdfast.testkit;

import io.holdfast.testkit.FaultProxy.Direction;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** How the network of a {@link FaultProxy} is at the moment, and the fault that is armed. */
final class Line {

    /** What becomes of a request. */
    enum Verdict {
        ARRIVES,
        REPLY_IS_LOST,
        IS_LOST
    }

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private boolean stalled;
    private long delayNanos;
    private @Nullable Fault armed;
    private int struck;

    void pass() {
        change(() -> {
            stalled = false;
            delayNanos = 0;
            armed = null;
        });
    }

    void delay(Duration by) {
        change(() -> {
            stalled = false;
            delayNanos = by.toNanos();
        });
    }

    void stall() {
        change(() -> stalled = true);
    }

    void arm(Fault fault) {
        change(() -> armed = fault);
    }

    int struck() {
        lock.lock();
        try {
            return struck;
        } finally {
            lock.unlock();
        }
    }

    void awaitStruck() {
        long nanos = PATIENCE.toNanos();
        lock.lock();
        try {
            while (armed != null) {
                if (nanos <= 0) {
                    throw new AssertionError("the armed fault " + armed.kind() + " did not strike in " + PATIENCE);
                }
                nanos = changed.awaitNanos(nanos);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        } finally {
            lock.unlock();
        }
    }

    /** Waits until bytes that came at this time may go on. */
    void awaitTurn(Direction direction, long arrivedNanos) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (true) {
                long wait = direction == Direction.TO_CLIENT ? arrivedNanos + delayNanos - System.nanoTime() : 0;
                if (stalled) {
                    changed.await();
                } else if (wait > 0) {
                    changed.await(wait, TimeUnit.NANOSECONDS);
                } else {
                    return;
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Counts a request and says what becomes of it. */
    Verdict verdict(String command) {
        lock.lock();
        try {
            if (armed == null || !armed.isVictim(command)) {
                return Verdict.ARRIVES;
            }
            return armed.kind() == Fault.Kind.DROP_REPLY ? Verdict.REPLY_IS_LOST : Verdict.IS_LOST;
        } finally {
            lock.unlock();
        }
    }

    /** How many of these bytes still arrive; if not all, the connection ends after them. */
    int allowed(Direction direction, int bytes) {
        lock.lock();
        try {
            return armed == null ? bytes : armed.allowed(direction, bytes);
        } finally {
            lock.unlock();
        }
    }

    /** The armed fault has struck. */
    void strike() {
        change(() -> {
            armed = null;
            struck++;
        });
    }

    private void change(Runnable how) {
        lock.lock();
        try {
            how.run();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
