package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** A table that keeps one row per (key, epoch), is down at times, and fails after it has written. */
final class MemorySink implements Sink<Ids> {

    record RowKey(String key, long epoch) {}

    final Map<RowKey, Flush<Ids>> rows = new HashMap<>();
    final List<String> violations = new ArrayList<>();
    private final RandomGenerator random;
    boolean faulty = true;
    boolean down;
    int writes;

    /** An epoch must not become a dead letter: failures of the batch that it is in, and of itself. */
    private static final int FAILURES_MAX = 2;

    private final Map<RowKey, Integer> failures = new HashMap<>();

    private static RowKey rowKey(Flush<Ids> flush) {
        return new RowKey(flush.key(), flush.epoch());
    }

    MemorySink(RandomGenerator random) {
        this.random = random;
    }

    @Override
    public void flush(List<Flush<Ids>> batch) {
        int dice = faulty ? random.nextInt(10) : 10;
        if (down || dice == 0) {
            throw new HoldfastException(Category.RETRY, "the sink is down");
        }
        int count = 0;
        for (Flush<Ids> flush : batch) {
            if (dice == 1
                    && count++ == batch.size() / 2
                    && failures.merge(rowKey(flush), 1, Integer::sum) <= FAILURES_MAX) {
                throw new IllegalStateException("the sink fails in the middle");
            }
            writes++;
            Flush<Ids> before = rows.putIfAbsent(rowKey(flush), flush);
            if (before != null && !before.digest().equals(flush.digest())) {
                violations.add("another value for " + flush + ", it was " + before);
            }
        }
        if (dice == 2) {
            throw new HoldfastException(Category.RETRY, "the sink wrote, and its answer was lost");
        }
    }
}
