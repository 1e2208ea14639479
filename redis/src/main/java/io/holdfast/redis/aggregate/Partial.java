package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.aggregate.AggregateScripts.Answer;
import io.holdfast.redis.aggregate.AggregateScripts.Entry;
import io.holdfast.redis.aggregate.AggregateScripts.Seen;
import io.holdfast.redis.aggregate.Update.Refused;
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
 *   flight   batches that were sent; each knows the number under which it was sent first
 *   fresh    what has been added since
 * </pre>
 *
 * A publish carries basis + flight + fresh as a whole. It is never withdrawn: if it is not answered, the next one carries the same
 * and more under a higher number, on top of the same base, and only one of them can count. The store says which: whatever was
 * sent under a number up to the last one that counts is done, the rest goes on top of that.
 *
 * <p>An update is refused if merging or encoding fails with it, or if the part becomes too large. Only what certainly does not
 * count is refused: while a publish is unanswered it goes out again with the same bytes, and what is new waits.
 */
final class Partial<T> {

    /** One entry names at most so many ids: a script writes them by one command. */
    static final int IDS_MAX = 1_000;

    /**
     * How far an ordered source was added here.
     *
     * @param position the highest position, of any delivery
     * @param delivery the latest delivery
     * @param ofDelivery the highest position of that
     */
    private record Reached(long position, SourceProgress delivery, long ofDelivery) {

        Reached with(SourceProgress progress, long at) {
            long before = progress == delivery ? ofDelivery : -1;
            return new Reached(Math.max(position, at), progress, Math.max(before, at));
        }
    }

    final String key;
    private final BinaryOperator<T> merge;
    private final PartCodec<T> codec;

    /** The epoch that basis belongs to; 0: none in the open epoch. */
    long epoch;

    private long base;
    private @Nullable T basis;
    private Tally basisTally = Tally.NONE;
    /** The server's second in which base counted. */
    private long countedSecond;

    private final List<Batch<T>> flight = new ArrayList<>(1);
    private @Nullable Batch<T> fresh;
    private final List<Reached> reached = new ArrayList<>(1);
    /** Of unordered sources, in flight or fresh. */
    private final Map<ByteBuffer, Update<T>> waitingIds = new HashMap<>(0);
    /** What the store has said of a source when it refused positions of it. */
    private final Map<String, Seen> known = new HashMap<>(0);

    long usedNanos;
    long dirtySinceNanos;
    /** It is in the queue of the table. */
    boolean queued;

    /** It is among those that go out first. */
    boolean hastened;

    boolean sending;
    /** It is to be left with the next publish. */
    boolean leaving;
    /** It is left for good, not to make room: that works also when the server is full. */
    boolean giving;
    /** The store may have lost it: it goes out again, changed or not. */
    boolean doubtful;

    /** What was sent last, as long as the same again is right. */
    private @Nullable Entry unanswered;
    /** The numbers of entries without a part whose reply did not come. */
    private final Set<Long> empties = new HashSet<>(0);
    /** What was sent last had no part. */
    private boolean sentEmpty;
    /** An empty entry has counted: the epoch is open. */
    private boolean verified;

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

    /**
     * Adds an update. One that is here already is not added again: it shares the fate of the first.
     *
     * @return what waits for the store; null if the update counts already
     */
    @Nullable
    Update<T> add(Update<T> update) {
        SourceProgress progress = update.progress;
        if (progress != null && isEcho(progress, update.position)) {
            return addEcho(update, progress);
        }
        ByteBuffer name = update.id == null ? null : ByteBuffer.wrap(update.id);
        if (name != null && waitingIds.containsKey(name)) {
            return waitingIds.get(name);
        }
        Batch<T> batch = fresh == null ? new Batch<>() : fresh;
        try {
            batch.add(update, merge);
        } catch (Throwable e) {
            update.failed(key);
            throw e;
        }
        fresh = batch;
        if (name != null) {
            waitingIds.put(name, update);
        }
        if (progress != null) {
            update.added(key);
            note(progress, update.position);
        }
        return update;
    }

    private @Nullable Update<T> addEcho(Update<T> update, SourceProgress progress) {
        update.added(key);
        note(progress, update.position);
        for (Update<T> first : waiting()) {
            if (first.isAt(progress, update.position)) {
                first.echo(update);
                return first;
            }
        }
        progress.done(update); // the first one is durable
        return null;
    }

    /** Whether the update at this position was added here before, and was not refused. */
    private boolean isEcho(SourceProgress progress, long position) {
        int at = find(progress.source());
        if (at < 0 || position > reached.get(at).position() || progress.isRefused(position, key)) {
            return false;
        }
        Reached before = reached.get(at);
        if (before.delivery() == progress && position <= before.ofDelivery() && !progress.isRetried(position)) {
            throw HoldfastException.misuse(
                    "a second update of key '" + key + "' at position " + position + " of source '" + progress.source()
                            + "'",
                    "merge the updates of one message for one key before adding them");
        }
        return true;
    }

    private int find(String source) {
        for (int i = 0; i < reached.size(); i++) {
            if (reached.get(i).delivery().source().equals(source)) {
                return i;
            }
        }
        return -1;
    }

    private void note(SourceProgress progress, long position) {
        int at = find(progress.source());
        if (at < 0) {
            reached.add(new Reached(position, progress, position));
        } else {
            reached.set(at, reached.get(at).with(progress, position));
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

    /**
     * The next publish; moves what is fresh into flight. What makes it impossible is refused, if it was never sent. Null if
     * there is nothing to send.
     */
    @Nullable
    Entry send(long number, long leaveMillis, long partLimit, List<Refused<T>> refused) {
        try {
            return entry(number, leaveMillis, partLimit, fresh);
        } catch (Throwable e) {
            if (!flight.isEmpty()) {
                return sentBefore(number, leaveMillis);
            }
            if (epoch != 0 && !verified) {
                return empty(number); // its epoch may have ended, and then there is room for the update
            }
            verified = false;
            keepOnly(possible(waiting(), partLimit, refused), refused);
            noteIds();
        }
        if (!isDirty() && !doubtful && (leaveMillis < 0 || epoch == 0)) {
            return null;
        }
        try {
            return entry(number, leaveMillis, partLimit, fresh);
        } catch (Throwable e) {
            refuse(waiting(), e, refused); // it did not fail a moment ago: the merge or the codec is no function
            keepOnly(List.of(), refused);
            noteIds();
            return null;
        }
    }

    /**
     * What was sent may count until another publish has: it goes out again, and what is new waits. If that cannot be merged any
     * more, an entry without a part shuts it out; without a part in the open epoch it is tried again later.
     */
    private @Nullable Entry sentBefore(long number, long leaveMillis) {
        Entry last = unanswered;
        if (last != null) {
            sentEmpty = false;
            sentNumber = number;
            sentLeaving = leaveMillis >= 0;
            unanswered = new Entry(key, epoch, base, number, leaveMillis, last.part(), last.spans(), last.ids());
            return unanswered;
        }
        try {
            return entry(number, leaveMillis, Long.MAX_VALUE, null);
        } catch (Throwable e) {
            return epoch == 0 ? null : empty(number);
        }
    }

    /** An entry that changes nothing: after it nothing that was sent before can count, and its epoch is known to be open. */
    private Entry empty(long number) {
        sentNumber = number;
        sentLeaving = false;
        sentEmpty = true;
        empties.add(number);
        return new Entry(key, epoch, base, number, -1, null, List.of(), List.of());
    }

    private List<Update<T>> waiting() {
        List<Update<T>> all = new ArrayList<>();
        flight.forEach(batch -> all.addAll(batch.updates));
        if (fresh != null) {
            all.addAll(fresh.updates);
        }
        return all;
    }

    /** Those updates with which a part can be made; the others are refused. */
    private List<Update<T>> possible(List<Update<T>> given, long partLimit, List<Refused<T>> refused) {
        List<Update<T>> kept = new ArrayList<>();
        T value = basis;
        Tally tally = basisTally;
        // Halves of what cannot go together, the first half first.
        List<List<Update<T>>> left = new ArrayList<>(List.of(given));
        while (!left.isEmpty()) {
            List<Update<T>> some = left.removeLast();
            try {
                Batch<T> batch = Batch.of(some, merge);
                T sum = batch.sum;
                if (sum != null) {
                    T both = value == null ? sum : merged(merge, value, sum);
                    Tally bothTally = tally.plus(batch.tally());
                    check(codec.encode(both, bothTally), partLimit);
                    value = both;
                    tally = bothTally;
                }
                kept.addAll(some);
            } catch (Throwable e) {
                if (some.size() == 1) {
                    refuse(some, e, refused);
                } else {
                    left.add(some.subList(some.size() / 2, some.size()));
                    left.add(some.subList(0, some.size() / 2));
                }
            }
        }
        return kept;
    }

    private void refuse(List<Update<T>> updates, Throwable e, List<Refused<T>> refused) {
        HoldfastException why = e instanceof HoldfastException own
                ? own
                : new HoldfastException(
                        Category.MISUSE,
                        "key '" + key + "': merging or encoding its part failed: " + e,
                        "look at the merge function and the codec; the update was not counted",
                        e);
        for (Update<T> update : updates) {
            update.refuse(key);
            refused.add(new Refused<>(key, update, why));
        }
    }

    /** Of what waits only these are left, as if they had just been added. */
    private void keepOnly(List<Update<T>> kept, List<Refused<T>> refused) {
        flight.clear();
        fresh = null;
        if (!kept.isEmpty()) {
            try {
                fresh = Batch.of(kept, merge);
            } catch (Throwable e) {
                refuse(kept, e, refused);
            }
        }
    }

    private void check(byte[] part, long partLimit) {
        if (part.length > partLimit) {
            throw new HoldfastException(
                    Category.FULL,
                    "the part of key '" + key + "' would take " + part.length + " bytes, and " + partLimit
                            + " are allowed",
                    "raise " + AggregateSettings.PART_LIMIT + ", end the key earlier, or keep less in its value",
                    null);
        }
    }

    /** Changes nothing if it throws. */
    private Entry entry(long number, long leaveMillis, long partLimit, @Nullable Batch<T> added) {
        List<Batch<T>> batches = new ArrayList<>(flight);
        Batch<T> rest = added == null ? fresh : addFresh(added, batches);
        T value = basis;
        Tally tally = basisTally;
        boolean changed = doubtful;
        Spans spans = new Spans(key, known);
        List<byte[]> ids = new ArrayList<>();
        for (Batch<T> batch : batches) {
            if (batch.sum != null) {
                value = value == null ? batch.sum : merged(merge, value, batch.sum);
                tally = tally.plus(batch.tally());
                changed = true;
            }
            for (Update<T> update : batch.updates) {
                if (update.id != null) {
                    ids.add(update.id);
                }
                if (update.progress != null) {
                    spans.add(update.progress, update.position);
                }
            }
        }
        byte[] part = changed && value != null ? codec.encode(value, tally) : null;
        if (part != null) {
            check(part, partLimit);
        }
        for (Batch<T> batch : batches) {
            batch.number = batch.number == 0 ? number : batch.number;
        }
        flight.clear();
        flight.addAll(batches);
        fresh = rest;
        sentEmpty = false;
        sentNumber = number;
        sentValue = value;
        sentTally = tally;
        sentLeaving = leaveMillis >= 0;
        Entry entry = new Entry(key, epoch, base, number, leaveMillis, part, spans.all(), ids);
        unanswered = entry;
        return entry;
    }

    /** Adds of what is fresh as much as one publish takes, and answers the rest. */
    private @Nullable Batch<T> addFresh(Batch<T> added, List<Batch<T>> batches) {
        int ids = 0;
        for (Batch<T> batch : batches) {
            ids += batch.ids();
        }
        if (ids + added.ids() <= IDS_MAX) {
            batches.add(added);
            return null;
        }
        if (ids > 0) {
            return added;
        }
        batches.add(Batch.of(added.updates.subList(0, IDS_MAX), merge));
        return Batch.of(added.updates.subList(IDS_MAX, added.updates.size()), merge);
    }

    /** Takes note of the answer; what is durable goes into {@code done}, what can no longer be sent into {@code refused}. */
    void answered(
            Answer answer,
            long second,
            long windowSeconds,
            List<Update<T>> done,
            List<Refused<T>> refused,
            AggregateFigures figures) {
        if (!(answer instanceof Answer.Full)) {
            unanswered = null;
        }
        boolean wasEmpty = sentEmpty;
        sentEmpty = false;
        switch (answer) {
            case Answer.Counted counted
            when wasEmpty -> {
                verified = true;
                base = sentNumber;
                countedSecond = second;
                keepOnly(waiting(), refused); // certainly not counted: as if it had just been added
            }
            case Answer.Counted counted -> {
                epoch = counted.epoch();
                base = sentNumber;
                basis = sentValue;
                basisTally = sentTally;
                countedSecond = second;
                doubtful = false;
                flight.forEach(batch -> done.addAll(batch.updates));
                flight.clear();
                if (sentLeaving && fresh == null) {
                    leaving = true; // it is out already, and the table may forget it
                    epoch = 0;
                }
            }
            case Answer.Otherwise otherwise -> {
                otherwise(otherwise, second - countedSecond < windowSeconds / 2, done);
                flight.forEach(batch -> figures.carried.add(batch.updates.size()));
            }
            case Answer.SeenBefore seen -> seen(seen, done, refused, figures);
            case Answer.Full full -> figures.full.increment();
        }
        if (!(answer instanceof Answer.Full)) {
            sentValue = null; // after Full the same goes out again, and may count then
            empties.clear();
        }
        noteIds();
    }

    private void noteIds() {
        if (!waitingIds.isEmpty()) {
            waitingIds.clear();
            for (Update<T> update : waiting()) {
                if (update.id != null) {
                    waitingIds.put(ByteBuffer.wrap(update.id), update);
                }
            }
        }
    }

    /** Whether the table may forget it: it has left, or it never was in, and nothing waits. */
    boolean isOver() {
        return leaving && !isDirty() && epoch == 0 && !doubtful;
    }

    /** @param remembers whether the store would still know our last publish if it had not lost it */
    private void otherwise(Answer.Otherwise state, boolean remembers, List<Update<T>> done) {
        if (empties.contains(state.last())) {
            flight.forEach(batch -> batch.number = 0); // what was sent before an empty entry that counts does not count
        }
        flight.removeIf(batch -> {
            boolean counts = batch.number > 0 && batch.number <= state.last();
            if (counts) {
                done.addAll(batch.updates);
            }
            return counts;
        });
        // The store went back, and the epoch has ended since with an earlier state of our part: the rest is lost.
        boolean ended = state.countedIn() == epoch && state.open() != epoch;
        boolean lost = state.last() < base && remembers && basis != null && !ended;
        base = state.last();
        if (lost && state.open() == epoch && epoch != 0) {
            doubtful = true; // the store has an earlier state of our part: ours goes out again
            return;
        }
        PartCodec.Part<T> part = state.part() == null ? null : codec.decode(state.part());
        epoch = part == null ? 0 : state.open();
        if (lost && basis != null) {
            // The store lost the whole epoch: what counted in it goes into the open one, or into a new one.
            basis = part == null ? basis : merged(merge, part.value(), basis);
            basisTally = part == null ? basisTally : part.tally().plus(basisTally);
            doubtful = true;
        } else {
            basis = part == null ? null : part.value();
            basisTally = part == null ? Tally.NONE : part.tally();
            doubtful = false;
        }
    }

    private void seen(
            Answer.SeenBefore seen, List<Update<T>> done, List<Refused<T>> refused, AggregateFigures figures) {
        known.putAll(seen.sources());
        int index = 0;
        for (int i = 0; i < flight.size(); i++) {
            Batch<T> batch = flight.get(i);
            List<Update<T>> left = new ArrayList<>();
            for (Update<T> update : batch.updates) {
                boolean duplicate = false;
                if (update.id != null) {
                    duplicate = seen.ids().contains(index++);
                }
                if (update.progress != null) {
                    Seen source = seen.sources().get(update.progress.source());
                    duplicate |= source != null && source.covers(update.position);
                }
                (duplicate ? done : left).add(update);
                figures.duplicates.add(duplicate ? 1 : 0);
            }
            if (left.size() < batch.updates.size()) {
                flight.set(i, without(left, batch.number, refused));
            }
        }
        flight.removeIf(batch -> batch.updates.isEmpty());
    }

    private Batch<T> without(List<Update<T>> left, long number, List<Refused<T>> refused) {
        Batch<T> batch;
        try {
            batch = Batch.of(left, merge);
        } catch (Throwable e) {
            refuse(left, e, refused);
            batch = new Batch<>();
        }
        batch.number = number;
        return batch;
    }

    /** Nothing that waits can be sent any more. */
    void refuseAll(HoldfastException why, List<Refused<T>> refused) {
        refuse(abandon(), why, refused);
    }

    /** Everything that waits, when it can no longer be sent. */
    List<Update<T>> abandon() {
        List<Update<T>> all = waiting();
        flight.clear();
        fresh = null;
        noteIds();
        return all;
    }
}
