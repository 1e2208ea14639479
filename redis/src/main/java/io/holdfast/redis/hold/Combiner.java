package io.holdfast.redis.hold;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Does the work of several callers at once: the caller that gets the lock does everything that waits, for all. Alone, a
 * caller waits for nobody; beside many, it shares their round trip. At most one batch is under way, so the batches of a
 * shard reach the server in order.
 *
 * <p><b>Waiting is bounded.</b> A caller whose operation is not done within the patience fails with RETRY. An operation that
 * was not begun by then is never done; of one that is under way nothing is known.
 */
final class Combiner<O, R> {

    private static final int BATCH_MAX = 128;

    private final ReentrantLock lock = new ReentrantLock();
    private final ConcurrentLinkedQueue<Slot<O, R>> waiting = new ConcurrentLinkedQueue<>();
    private final Function<List<O>, List<R>> work;
    private final String what;
    private final long patienceNanos;

    /**
     * @param work returns as many results as it is given operations
     * @param what names the shard in failures
     */
    Combiner(String what, Duration patience, Function<List<O>, List<R>> work) {
        this.what = what;
        this.patienceNanos = patience.toNanos();
        this.work = work;
    }

    R submit(O operation) {
        Slot<O, R> mine = new Slot<>(operation, Thread.currentThread());
        waiting.add(mine);
        long deadline = System.nanoTime() + patienceNanos;
        while (!mine.isDone()) {
            if (lock.tryLock()) {
                try {
                    if (deadline - System.nanoTime() < patienceNanos / 2 && mine.giveUp()) {
                        throw silent(); // the store was silent for so long that another call would take too long
                    }
                    while (!mine.isDone()) {
                        workOnce();
                    }
                } finally {
                    unlock();
                }
            } else {
                long left = deadline - System.nanoTime();
                if (left <= 0 && mine.giveUp()) {
                    throw silent();
                }
                LockSupport.parkNanos(this, Math.max(left, 1_000_000));
                if (Thread.interrupted() && mine.giveUp()) {
                    Thread.currentThread().interrupt();
                    throw new HoldfastException(Category.RETRY, "interrupted while waiting for " + what);
                }
            }
        }
        return mine.get();
    }

    /** Does something alone, between batches. */
    <T> T alone(Supplier<T> task) {
        lockInTime();
        try {
            return task.get();
        } catch (HoldfastException e) {
            failWaiting(e);
            throw e;
        } finally {
            unlock();
        }
    }

    /** To be followed by {@link #unlock}. */
    void lockInTime() {
        try {
            if (!lock.tryLock() && !lock.tryLock(patienceNanos, java.util.concurrent.TimeUnit.NANOSECONDS)) {
                throw silent();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new HoldfastException(Category.RETRY, "interrupted while waiting for " + what, e);
        }
    }

    void unlock() {
        lock.unlock();
        Slot<O, R> next = waiting.peek();
        if (next != null) {
            LockSupport.unpark(next.owner);
        }
    }

    private HoldfastException silent() {
        return new HoldfastException(
                Category.RETRY, what + ": earlier calls got no answer within " + patienceNanos / 1_000_000 + " ms");
    }

    private void workOnce() {
        List<Slot<O, R>> batch = new ArrayList<>();
        for (Slot<O, R> slot = waiting.poll(); slot != null; slot = waiting.poll()) {
            if (slot.begin()) {
                batch.add(slot);
            }
            if (batch.size() == BATCH_MAX) {
                break;
            }
        }
        if (batch.isEmpty()) {
            return;
        }
        try {
            List<R> results =
                    work.apply(batch.stream().map(slot -> slot.operation).toList());
            for (int i = 0; i < batch.size(); i++) {
                batch.get(i).done(results.get(i), null);
            }
        } catch (RuntimeException | Error e) {
            for (Slot<O, R> slot : batch) {
                slot.done(null, e);
            }
            if (e instanceof HoldfastException failure) {
                failWaiting(failure);
            }
        }
    }

    /** What waited behind a call that got no answer would only wait as long again. */
    private void failWaiting(HoldfastException failure) {
        if (!failure.isRetryable()) {
            return;
        }
        for (Slot<O, R> slot = waiting.poll(); slot != null; slot = waiting.poll()) {
            if (slot.begin()) {
                slot.done(null, failure);
            }
        }
    }

    private enum State {
        WAITING,
        UNDER_WAY,
        GIVEN_UP,
        DONE
    }

    /** An operation and its owner, who is woken when it is done. */
    private static final class Slot<O, R> {
        final O operation;
        final Thread owner;
        private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);
        private @Nullable R result;
        private @Nullable Throwable failure;

        Slot(O operation, Thread owner) {
            this.operation = operation;
            this.owner = owner;
        }

        boolean begin() {
            return state.compareAndSet(State.WAITING, State.UNDER_WAY);
        }

        /** False if it is done: then there is a result after all. */
        boolean giveUp() {
            return state.compareAndSet(State.WAITING, State.GIVEN_UP)
                    || state.compareAndSet(State.UNDER_WAY, State.GIVEN_UP);
        }

        void done(@Nullable R outcome, @Nullable Throwable cause) {
            result = outcome;
            failure = cause;
            if (state.compareAndSet(State.UNDER_WAY, State.DONE)) {
                LockSupport.unpark(owner);
            }
        }

        boolean isDone() {
            return state.get() == State.DONE;
        }

        R get() {
            R found = result;
            if (found != null) {
                return found;
            }
            // An exception belongs to several callers: each gets one with its own stack.
            if (failure instanceof HoldfastException e) {
                throw new HoldfastException(e.category(), String.valueOf(e.getMessage()), e.action(), e);
            }
            throw new IllegalStateException("a batch failed", failure);
        }
    }
}
