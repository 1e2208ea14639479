package io.holdfast.redis.aggregate;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BinaryOperator;
import org.jspecify.annotations.Nullable;

/** Updates of one key that go out together. Guarded by the lock of its table. */
final class Batch<T> {

    final List<Update<T>> updates = new ArrayList<>(4);
    final CompletableFuture<@Nullable Void> stage = new CompletableFuture<>();

    @Nullable
    T sum;

    private long count;
    private long firstMillis = Long.MAX_VALUE;
    private long lastMillis = Long.MIN_VALUE;
    /** The first publish that carried it; 0 before. */
    long number;

    Tally tally() {
        return new Tally(count, firstMillis, lastMillis);
    }

    boolean isEchoOnly() {
        return sum == null;
    }

    /** Nothing is changed if the merge throws. */
    void add(Update<T> update, BinaryOperator<T> merge) {
        T value = update.value;
        if (value != null) {
            sum = sum == null ? value : Partial.merged(merge, sum, value);
            count++;
            if (update.eventMillis != Update.NO_EVENT_TIME) {
                firstMillis = Math.min(firstMillis, update.eventMillis);
                lastMillis = Math.max(lastMillis, update.eventMillis);
            }
        }
        updates.add(update);
    }

    /** Takes out what counts already, and makes the sum anew. */
    void keepOnly(List<Update<T>> left, BinaryOperator<T> merge) {
        updates.clear();
        sum = null;
        count = 0;
        firstMillis = Long.MAX_VALUE;
        lastMillis = Long.MIN_VALUE;
        left.forEach(update -> add(update, merge));
    }
}
