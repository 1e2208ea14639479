package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import io.holdfast.redis.aggregate.AggregateScripts.Answer;
import io.holdfast.redis.aggregate.AggregateScripts.Entry;
import io.holdfast.redis.aggregate.AggregateScripts.Span;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BinaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * This instance's part of one key. Guarded by the lock of its table.
 *
 * <pre>
 *   basis    what counts, as far as this instance knows: its part in the epoch, by publish number base
 *   flight   batches that were sent and not answered; each knows the number under which it was sent first
 *   fresh    what has been added since
 * </pre>
 *
 * A publish carries basis + flight + fresh as a whole. It is never withdrawn: if it is not answered, the next one carries the same
 * and more under a higher number, on top of the same base, and only one of them can count. The store says which: whatever was
 * sent under a number up to the last one that counts is done, the rest goes on top of that.
 */
final class Partial<T> {

    /** The last position of an ordered source that was added here. */
    private record Reached(SourceProgress progress, long position) {}

    final String key;
    private final BinaryOperator<T> merge;
    private final PartCodec<T> codec;

    /** The epoch that basis belongs to; 0: none in the open epoch. */
    long epoch;

    private long base;
    private @Nullable T basis;
    private Tally basisTally = Tally.NONE;
    private final List<Batch<T>> flight = new ArrayList<>(1);
    private @Nullable Batch<T> fresh;
    private final List<Reached> reached = new ArrayList<>(1);
    /** Of unordered sources, in flight or fresh. */
    private final Set<ByteBuffer> waitingIds = new HashSet<>(0);

    long usedNanos;
    long dirtySinceNanos;
    /** Until when the instance asked to keep it open; 0 if it did not. */
    long extendedUntilNanos;

    boolean extended;
    /** It is in the queue of the table. */
    boolean queued;

    /** It is among those that go out first. */
    boolean hastened;

    boolean sending;
    /** It is to be left with the next publish. */
    boolean leaving;

    private long sentNumber;
    private boolean sentLeaving;
    private @Nullable T sentValue;
    private Tally sentTally = Tally.NONE;

    Partial(String key, BinaryOperator<T> merge, PartCodec<T> codec) {
        this.key = key;
        this.merge = merge;
        this.codec = codec;
    }

    static <T> T merged(BinaryOperator<T> merge, T first, T second) {
        T merged = merge.apply(first, second);
        if (merged == null) {
            throw HoldfastException.misuse("the merge function answered null", "let it answer a value always");
        }
        return merged;
    }

    /** Adds an update, or an echo of one that is here already; answers the batch that it goes with, null if it counts. */
    @Nullable
    Batch<T> add(Update<T> update) {
        SourceProgress progress = update.progress;
        Update<T> added = update;
        if (progress != null) {
            int at = find(progress.source());
            if (at >= 0 && update.position <= reached.get(at).position()) {
                if (reached.get(at).progress() == progress) {
                    throw HoldfastException.misuse(
                            "a second update of key '" + key + "' at position " + update.position + " of source '"
                                    + progress.source() + "'",
                            "merge the updates of one message for one key before adding them");
                }
                added = new Update<>(null, progress, update.position, null, Update.NO_EVENT_TIME);
                if (!isDirty()) {
                    progress.added(added);
                    progress.done(added);
                    return null;
                }
            }
        }
        ByteBuffer name = update.id == null ? null : ByteBuffer.wrap(update.id);
        if (name != null && waitingIds.contains(name)) {
            added = new Update<>(null, null, -1, null, Update.NO_EVENT_TIME);
        }
        Batch<T> batch = fresh == null ? new Batch<>() : fresh;
        batch.add(added, merge);
        fresh = batch;
        if (name != null) {
            waitingIds.add(name);
        }
        if (progress != null) {
            progress.added(added);
            if (added == update) {
                note(progress, update.position);
            }
        }
        return batch;
    }

    private int find(String source) {
        for (int i = 0; i < reached.size(); i++) {
            if (reached.get(i).progress().source().equals(source)) {
                return i;
            }
        }
        return -1;
    }

    private void note(SourceProgress progress, long position) {
        Reached now = new Reached(progress, position);
        int at = find(progress.source());
        if (at < 0) {
            reached.add(now);
        } else {
            reached.set(at, now);
        }
    }

    boolean isDirty() {
        return fresh != null || !flight.isEmpty();
    }

    int pending() {
        int count = fresh == null ? 0 : fresh.updates.size();
        for (Batch<T> batch : flight) {
            count += batch.updates.size();
        }
        return count;
    }

    /** What a send came to: an entry, updates that are too much, or nothing to do. */
    record Sending<T>(
            @Nullable Entry entry,
            @Nullable Batch<T> refused,
            @Nullable HoldfastException why) {}

    /** The next publish; moves what is fresh into flight. */
    Sending<T> send(long number, long leaveMillis, long partLimit) {
        try {
            Entry entry = entry(number, leaveMillis, partLimit, true);
            return new Sending<>(entry, null, null);
        } catch (RuntimeException e) {
            HoldfastException why = e instanceof HoldfastException own
                    ? own
                    : new HoldfastException(
                            HoldfastException.Category.MISUSE,
                            "key '" + key + "': merging or encoding its part failed: " + e,
                            "look at the merge function and the codec; the update was not counted",
                            e);
            if (flight.isEmpty()) {
                Batch<T> refused = fresh;
                fresh = null;
                return new Sending<>(null, refused, why);
            }
            // What was sent before may count already; it goes out again as it was, and the new ones wait for its
            // answer.
            return new Sending<>(entry(number, leaveMillis, Long.MAX_VALUE, false), null, null);
        }
    }

    private Entry entry(long number, long leaveMillis, long partLimit, boolean withFresh) {
        T value = basis;
        Tally tally = basisTally;
        boolean changed = false;
        List<Batch<T>> batches = new ArrayList<>(flight);
        if (withFresh && fresh != null) {
            batches.add(fresh);
        }
        Map<String, Span> spans = new HashMap<>();
        List<byte[]> ids = new ArrayList<>();
        for (Batch<T> batch : batches) {
            if (batch.sum != null) {
                value = value == null ? batch.sum : merged(merge, value, batch.sum);
                tally = tally.plus(batch.tally());
                changed = true;
            }
            for (Update<T> update : batch.updates) {
                collect(update, spans, ids);
            }
        }
        byte[] part = changed && value != null ? codec.encode(value, tally) : null;
        if (part != null && part.length > partLimit) {
            throw new HoldfastException(
                    HoldfastException.Category.FULL,
                    "the part of key '" + key + "' would take " + part.length + " bytes, and " + partLimit
                            + " are allowed",
                    "raise " + AggregateSettings.PART_LIMIT + ", close the key earlier, or keep less in its value",
                    null);
        }
        if (withFresh && fresh != null) {
            fresh.number = number;
            flight.add(fresh);
            fresh = null;
        }
        sentNumber = number;
        sentValue = value;
        sentTally = tally;
        sentLeaving = leaveMillis >= 0;
        return new Entry(key, epoch, base, number, leaveMillis, part, List.copyOf(spans.values()), ids);
    }

    private void collect(Update<T> update, Map<String, Span> spans, List<byte[]> ids) {
        if (update.value == null) {
            return;
        }
        if (update.id != null) {
            ids.add(update.id);
        }
        if (update.progress != null) {
            spans.merge(
                    update.progress.source(),
                    new Span(update.progress.source(), update.position, update.position),
                    (one, two) ->
                            new Span(one.source(), Math.min(one.from(), two.from()), Math.max(one.to(), two.to())));
        }
    }

    /** Takes note of the answer; what is durable goes into {@code done}, updates that counted before into {@code echoes}. */
    void answered(Answer answer, List<Batch<T>> done, AggregateFigures figures) {
        switch (answer) {
            case Answer.Counted counted -> {
                epoch = counted.epoch();
                base = sentNumber;
                basis = sentValue;
                basisTally = sentTally;
                done.addAll(flight);
                flight.clear();
                if (sentLeaving && fresh == null) {
                    leaving = true; // it is out already, and the table may forget it
                    epoch = 0;
                }
            }
            case Answer.Otherwise otherwise -> {
                otherwise(otherwise, done);
                flight.forEach(batch -> figures.carried.add(batch.updates.size()));
            }
            case Answer.Seen seen -> seen(seen, done, figures);
            case Answer.Full full -> figures.full.increment();
        }
        sentValue = null;
        settleEchoes(done);
        if (!waitingIds.isEmpty()) {
            waitingIds.clear();
            flight.forEach(this::noteIds);
            if (fresh != null) {
                noteIds(fresh);
            }
        }
    }

    private void noteIds(Batch<T> batch) {
        for (Update<T> update : batch.updates) {
            if (update.id != null) {
                waitingIds.add(ByteBuffer.wrap(update.id));
            }
        }
    }

    /** Echoes wait for what they repeat; when nothing else is left, that is durable. */
    private void settleEchoes(List<Batch<T>> done) {
        if (isDirty() && flight.stream().allMatch(Batch::isEchoOnly) && (fresh == null || fresh.isEchoOnly())) {
            done.addAll(abandon());
        }
    }

    /** Whether the table may forget it: it has left, or it never was in, and nothing waits. */
    boolean isOver() {
        return leaving && !isDirty() && epoch == 0;
    }

    private void otherwise(Answer.Otherwise state, List<Batch<T>> done) {
        flight.removeIf(batch -> {
            boolean counts = batch.number <= state.last();
            if (counts) {
                done.add(batch);
            }
            return counts;
        });
        if (state.open() == epoch && epoch != 0 && state.last() < base) {
            // The store went back to an earlier state, in the same epoch: our own memory of our part is the better one.
            base = state.last();
            return;
        }
        base = state.last();
        if (state.part() == null) {
            epoch = 0;
            basis = null;
            basisTally = Tally.NONE;
        } else {
            PartCodec.Part<T> part = codec.decode(state.part());
            epoch = state.open();
            basis = part.value();
            basisTally = part.tally();
        }
    }

    private void seen(Answer.Seen seen, List<Batch<T>> done, AggregateFigures figures) {
        int index = 0;
        for (Batch<T> batch : flight) {
            List<Update<T>> left = new ArrayList<>();
            Batch<T> counted = new Batch<>();
            for (Update<T> update : batch.updates) {
                boolean duplicate = false;
                if (update.value != null && update.id != null) {
                    duplicate = seen.ids().contains(index++);
                }
                if (update.value != null && update.progress != null) {
                    Long last = seen.sources().get(update.progress.source());
                    duplicate |= last != null && update.position <= last;
                }
                if (duplicate) {
                    counted.updates.add(update);
                    figures.duplicates.increment();
                } else {
                    left.add(update);
                }
            }
            if (!counted.updates.isEmpty()) {
                batch.keepOnly(left, merge);
                done.add(counted);
            }
        }
        flight.removeIf(batch -> {
            if (batch.updates.isEmpty()) {
                done.add(batch); // for its stage
            }
            return batch.updates.isEmpty();
        });
    }

    /** Everything that waits, when it can no longer be sent. */
    List<Batch<T>> abandon() {
        List<Batch<T>> all = new ArrayList<>(flight);
        if (fresh != null) {
            all.add(fresh);
        }
        flight.clear();
        fresh = null;
        return all;
    }
}
