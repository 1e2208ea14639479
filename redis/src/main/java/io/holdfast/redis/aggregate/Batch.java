package io.holdfast.redis.aggregate;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BinaryOperator;
import org.jspecify.annotations.Nullable;

/** Updates of one key that go out together. Guarded by the lock of its table. */
final class Batch<T> {

    final List<Update<T>> updates;

    @Nullable
    T sum;

    private long count;
    private long firstMillis = Long.MAX_VALUE;
    private long lastMillis = Long.MIN_VALUE;
    private int ids;
    /** The first publish that carried it; 0 before. */
    long number;

    Batch() {
        this.updates = new ArrayList<>(4);
    }

    /** All of these, whether they can be merged or not. */
    private Batch(List<Update<T>> updates) {
        this.updates = new ArrayList<>(updates);
    }

    /** @throws RuntimeException what the merge throws; then nothing is lost, as the updates are the caller's */
    static <T> Batch<T> of(List<Update<T>> updates, BinaryOperator<T> merge) {
        Batch<T> batch = new Batch<>(updates);
        updates.forEach(update -> batch.merge(update, merge));
        return batch;
    }

    Tally tally() {
        return new Tally(count, firstMillis, lastMillis);
    }

    int ids() {
        return ids;
    }

    /** Nothing is changed if the merge throws. */
    void add(Update<T> update, BinaryOperator<T> merge) {
        merge(update, merge);
        updates.add(update);
    }

    private void merge(Update<T> update, BinaryOperator<T> merge) {
        sum = sum == null ? update.value : Partial.merged(merge, sum, update.value);
        count++;
        if (update.eventMillis != Update.NO_EVENT_TIME) {
            firstMillis = Math.min(firstMillis, update.eventMillis);
            lastMillis = Math.max(lastMillis, update.eventMillis);
        }
        ids += update.id == null ? 0 : 1;
    }
}
