package io.holdfast.redis.hold;

import io.holdfast.HoldfastException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Does the work of several callers at once: whoever gets the lock does everything that waits, for all. Alone, a caller
 * waits for nobody; beside many, it shares their round trip. At most one batch is under way, so the batches of a shard
 * reach the server in order.
 */
final class Combiner<O, R> {

    private static final int BATCH_MAX = 128;

    private final ReentrantLock lock = new ReentrantLock();
    private final ConcurrentLinkedQueue<Slot<O, R>> waiting = new ConcurrentLinkedQueue<>();
    private final Function<List<O>, List<R>> work;

    /** @param work answers as many results as it is given operations */
    Combiner(Function<List<O>, List<R>> work) {
        this.work = work;
    }

    R submit(O operation) {
        Slot<O, R> mine = new Slot<>(operation);
        waiting.add(mine);
        lock.lock();
        try {
            while (mine.result == null && mine.failure == null) {
                workOnce();
            }
        } finally {
            lock.unlock();
        }
        return mine.get();
    }

    /** Does something alone, between batches. */
    <T> T alone(java.util.function.Supplier<T> task) {
        lock.lock();
        try {
            return task.get();
        } finally {
            lock.unlock();
        }
    }

    private void workOnce() {
        List<Slot<O, R>> batch = new ArrayList<>();
        for (Slot<O, R> slot = waiting.poll(); slot != null; slot = waiting.poll()) {
            batch.add(slot);
            if (batch.size() == BATCH_MAX) {
                break;
            }
        }
        try {
            List<R> results =
                    work.apply(batch.stream().map(slot -> slot.operation).toList());
            for (int i = 0; i < batch.size(); i++) {
                batch.get(i).result = results.get(i);
            }
        } catch (RuntimeException | Error e) {
            for (Slot<O, R> slot : batch) {
                slot.failure = e;
            }
        }
    }

    /** Written under the lock by whoever does the batch, read by its owner under the lock or after it. */
    private static final class Slot<O, R> {
        final O operation;
        volatile @Nullable R result;
        volatile @Nullable Throwable failure;

        Slot(O operation) {
            this.operation = operation;
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
