package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.redis.aggregate.AggregateScripts.Answer;
import io.holdfast.redis.aggregate.AggregateScripts.Answers;
import io.holdfast.redis.aggregate.AggregateScripts.Entry;
import io.holdfast.redis.aggregate.Update.Refused;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BinaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The keys of one shard that this instance adds to: bounded in keys and in updates that wait. When it is nearly full, the
 * keys used least are published and left; when it is full, an add waits for room, and then fails with RETRY.
 */
final class LocalTable<T> {

    private final AggregateRules rules;
    private final BinaryOperator<T> merge;
    private final PartCodec<T> codec;
    private final Time time;
    private final AggregateFigures figures;
    private final AtomicLong numbers;
    private final Runnable hurry;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition room = lock.newCondition();
    private final LinkedHashMap<String, Partial<T>> partials = new LinkedHashMap<>(16, 0.75f, true);
    private final ArrayDeque<Partial<T>> queue = new ArrayDeque<>();
    private final ArrayDeque<Partial<T>> urgent = new ArrayDeque<>();
    private int leavingCount;
    private long lookedNanos;
    private int pending;
    private boolean closed;
    private Answer.@Nullable Full full;

    LocalTable(
            AggregateRules rules,
            BinaryOperator<T> merge,
            PartCodec<T> codec,
            Time time,
            AggregateFigures figures,
            AtomicLong numbers,
            Runnable hurry) {
        this.rules = rules;
        this.merge = merge;
        this.codec = codec;
        this.time = time;
        this.figures = figures;
        this.numbers = numbers;
        this.hurry = hurry;
        this.lookedNanos = time.nanoTime();
    }

    /** What waits for the store; null if the update was durable before. */
    @Nullable
    Update<T> add(String key, Update<T> update) {
        lock.lock();
        try {
            try {
                awaitRoom(key);
            } catch (HoldfastException e) {
                update.failed(key);
                throw e;
            }
            Partial<T> known = partials.get(key);
            Partial<T> partial = known == null ? new Partial<>(key, merge, codec) : known;
            int before = partial.pending();
            Update<T> added = partial.add(update);
            if (known == null) {
                partials.put(key, partial);
            }
            pending += partial.pending() - before;
            long now = time.nanoTime();
            partial.usedNanos = now;
            stay(partial);
            if (added != null && !partial.queued && !partial.hastened && !partial.sending) {
                enqueue(partial, now);
            }
            makeRoom();
            return added;
        } finally {
            lock.unlock();
        }
    }

    private void awaitRoom(String key) {
        long left = rules.addWait().toNanos();
        while (closed || pending >= rules.pendingPerShard() || lacksRoomFor(key)) {
            if (closed) {
                throw HoldfastException.misuse("these aggregates are closed", "add before close()");
            }
            hurry.run();
            if (left <= 0) {
                throw noRoomFor(key);
            }
            try {
                left = room.awaitNanos(left);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new HoldfastException(Category.RETRY, "interrupted while waiting for room", e);
            }
        }
    }

    private HoldfastException noRoomFor(String key) {
        Answer.Full why = full;
        if (why == null) {
            return new HoldfastException(
                    Category.RETRY,
                    "no room for key '" + key + "': " + pending + " updates wait to be published",
                    "let the bus deliver it again; see whether Redis answers",
                    null);
        }
        return why.ofRefused()
                ? new HoldfastException(
                        Category.FULL,
                        "a key has more than " + SourceProgress.REFUSED_MAX + " refused positions of one source, and "
                                + pending + " updates wait here",
                        "deliver the refused updates again, or wait until the redelivery window is over",
                        null)
                : new HoldfastException(
                        Category.FULL,
                        "too many bytes wait in Redis for the sink, and " + pending + " updates here",
                        "see that the sink works; the bus should deliver this update again later",
                        null);
    }

    private boolean lacksRoomFor(String key) {
        return partials.size() >= rules.tablePerShard() && !partials.containsKey(key);
    }

    /** Marks the keys used least to be left, an eighth of the table ahead of time. */
    private void makeRoom() {
        int most = rules.tablePerShard() - rules.tablePerShard() / 8;
        if (partials.size() - leavingCount < most) {
            return;
        }
        int wanted = Math.max(1, rules.tablePerShard() / 64);
        Iterator<Partial<T>> eldest = partials.values().iterator();
        while (wanted > 0 && eldest.hasNext()) {
            Partial<T> partial = eldest.next();
            if (!partial.leaving) {
                leave(partial, false);
                wanted--;
            }
        }
        hurry.run();
    }

    private boolean isCrowded() {
        return partials.size() - leavingCount > rules.tablePerShard() / 2;
    }

    /** @param giving for good, and not to make room */
    private void leave(Partial<T> partial, boolean giving) {
        if (!partial.leaving) {
            partial.leaving = true;
            leavingCount++;
        }
        partial.giving |= giving;
        hasten(partial);
    }

    private void stay(Partial<T> partial) {
        if (partial.leaving) {
            partial.leaving = false;
            leavingCount--;
        }
        partial.giving = false;
    }

    private void hasten(Partial<T> partial) {
        partial.queued = false; // its place in the queue is passed over
        if (!partial.sending && !partial.hastened) {
            partial.hastened = true;
            urgent.add(partial);
        }
    }

    /** Leaves what nobody used for a soft window; looks at all keys, and so not too often. */
    void leaveUnused() {
        lock.lock();
        try {
            long now = time.nanoTime();
            long soft = rules.softWindow().toNanos();
            if (now - lookedNanos < Math.min(soft / 16, TimeUnit.SECONDS.toNanos(1))) {
                return;
            }
            lookedNanos = now;
            for (Partial<T> partial : partials.values()) {
                if (now - partial.usedNanos >= soft && !partial.leaving && !partial.sending) {
                    leave(partial, true);
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** A publish of this shard that is under way. */
    static final class Shipment<T> {
        final List<Partial<T>> partials = new ArrayList<>();
        final List<Entry> entries = new ArrayList<>();
        final List<Update<T>> done = new ArrayList<>();
        final List<Refused<T>> refused = new ArrayList<>();
        /** Every key is left for good, or with nothing that the server would have to store. */
        final boolean giving;

        private long bytes;
        private int ids;

        Shipment(boolean giving) {
            this.giving = giving;
        }

        private boolean isFull() {
            return entries.size() >= 128 || bytes > 256 << 10 || ids > Partial.IDS_MAX;
        }

        private void add(Partial<T> partial, Entry entry) {
            partials.add(partial);
            entries.add(entry);
            bytes += entry.part() == null ? 0 : entry.part().length;
            ids += entry.ids().size();
        }
    }

    /** What goes out in one round: what is given up, and the rest. */
    record Round<T>(Shipment<T> giving, Shipment<T> rest) {
        Round() {
            this(new Shipment<>(true), new Shipment<>(false));
        }

        private boolean isFull() {
            return giving.isFull() || rest.isFull();
        }

        List<Shipment<T>> both() {
            return List.of(giving, rest);
        }
    }

    /** Takes the next publish of what waits: what has waited long enough, or everything. */
    Round<T> take(boolean all) {
        Round<T> round = new Round<>();
        lock.lock();
        try {
            long now = time.nanoTime();
            while (!round.isFull() && !urgent.isEmpty()) {
                Partial<T> partial = urgent.remove();
                partial.hastened = false;
                put(partial, now, round);
            }
            while (!round.isFull()
                    && !queue.isEmpty()
                    && (all
                            || now - queue.peek().dirtySinceNanos
                                    >= rules.publishInterval().toNanos())) {
                Partial<T> partial = queue.remove();
                if (partial.queued && !partial.hastened) {
                    partial.queued = false;
                    if (isCrowded() && partial.usedNanos == partial.dirtySinceNanos && !partial.leaving) {
                        // Used once since the last publish, and its place is wanted: one publish instead of two.
                        partial.leaving = true;
                        leavingCount++;
                    }
                    put(partial, now, round);
                }
            }
        } finally {
            lock.unlock();
        }
        return round;
    }

    private void put(Partial<T> partial, long now, Round<T> round) {
        if (!partial.isDirty() && !partial.doubtful && (!partial.leaving || partial.epoch == 0)) {
            forgetIfOver(partial);
            return;
        }
        long leave = partial.leaving ? leaveMillis(partial, now) : -1;
        int before = partial.pending();
        Entry entry = partial.send(numbers.incrementAndGet(), leave, rules.partLimit(), round.rest().refused);
        pending -= before - partial.pending();
        if (entry == null) {
            if (!forgetIfOver(partial) && partial.isDirty()) {
                enqueue(partial, now); // it cannot be sent now: see Partial.send
            }
            return;
        }
        partial.sending = true;
        boolean giving = entry.leaveMillis() >= 0 && (partial.giving || entry.part() == null);
        (giving ? round.giving() : round.rest()).add(partial, entry);
    }

    /** For how long the epoch shall stay open after this instance has left: the rest of the soft window. */
    private long leaveMillis(Partial<T> partial, long now) {
        long until = partial.usedNanos + rules.softWindow().toNanos();
        return Math.max(0, TimeUnit.NANOSECONDS.toMillis(until - now));
    }

    /** The store may have lost what this instance published: every part goes out again at once. */
    void doubt() {
        lock.lock();
        try {
            for (Partial<T> partial : partials.values()) {
                if (partial.epoch != 0) {
                    partial.doubtful = true;
                    hasten(partial);
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Takes the answers of a publish; without answers everything waits for the next one. */
    void answered(Shipment<T> shipment, Answers answers) {
        lock.lock();
        try {
            for (int i = 0; i < shipment.partials.size(); i++) {
                Partial<T> partial = shipment.partials.get(i);
                partial.sending = false;
                if (answers.each().isEmpty()) {
                    figures.unanswered.increment();
                    enqueue(partial, time.nanoTime());
                    continue;
                }
                Answer answer = answers.each().get(i);
                full = answer instanceof Answer.Full why ? why : null;
                int before = partial.pending();
                take(partial, answer, answers.second(), shipment);
                pending -= before - partial.pending();
                if (answer instanceof Answer.Counted) {
                    figures.published.increment();
                    Entry entry = shipment.entries.get(i);
                    figures.publishedBytes.add(entry.part() == null ? 0 : entry.part().length);
                }
                if (forgetIfOver(partial) || !(partial.isDirty() || partial.leaving || partial.doubtful)) {
                    continue;
                }
                if (answer instanceof Answer.Otherwise || answer instanceof Answer.SeenBefore) {
                    hasten(partial); // what is refused so will not be refused again
                } else {
                    enqueue(partial, time.nanoTime());
                }
            }
            room.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void take(Partial<T> partial, Answer answer, long second, Shipment<T> shipment) {
        boolean wasLeaving = partial.leaving;
        try {
            long window = rules.redeliveryWindow().toSeconds();
            partial.answered(answer, second, window, shipment.done, shipment.refused, figures);
        } catch (Throwable e) {
            HoldfastException why = new HoldfastException(
                    Category.CORRUPT,
                    "this instance's own part of key '" + partial.key + "' cannot be read or merged: " + e,
                    "give the codec that wrote it, or end the key",
                    e);
            partial.refuseAll(why, shipment.refused);
        }
        if (partial.leaving && !wasLeaving) {
            leavingCount++;
        }
    }

    private void enqueue(Partial<T> partial, long now) {
        if (!partial.queued && !partial.hastened) {
            partial.dirtySinceNanos = now;
            partial.queued = true;
            queue.add(partial);
        }
    }

    private boolean forgetIfOver(Partial<T> partial) {
        if (!partial.isOver()) {
            return false;
        }
        if (partials.remove(partial.key, partial)) {
            leavingCount--;
            figures.left.increment();
        }
        return true;
    }

    /**
     * Everything of a key goes out as soon as possible; answers whether anything waits.
     *
     * @param giving the key is left with it, also when the server is full
     */
    boolean hasten(String key, boolean giving) {
        lock.lock();
        try {
            Partial<T> partial = partials.get(key);
            if (partial == null || !partial.isDirty()) {
                return false;
            }
            if (giving) {
                leave(partial, true);
            } else {
                hasten(partial);
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Refuses further updates, and leaves every key. */
    void close() {
        lock.lock();
        try {
            closed = true;
            for (Partial<T> partial : List.copyOf(partials.values())) {
                leave(partial, true);
            }
            room.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** What could not be sent in time; nobody knows whether the last of it counts. */
    List<Update<T>> abandon() {
        lock.lock();
        try {
            List<Update<T>> all = new ArrayList<>();
            partials.values().forEach(partial -> all.addAll(partial.abandon()));
            partials.clear();
            queue.clear();
            urgent.clear();
            pending = 0;
            return all;
        } finally {
            lock.unlock();
        }
    }

    int size() {
        lock.lock();
        try {
            return partials.size();
        } finally {
            lock.unlock();
        }
    }

    int pending() {
        lock.lock();
        try {
            return pending;
        } finally {
            lock.unlock();
        }
    }

    /** Whether anything waits to be sent now; with {@code all}, or at any time. */
    boolean hasMore(boolean all) {
        lock.lock();
        try {
            if (!urgent.isEmpty()) {
                return true;
            }
            return !queue.isEmpty()
                    && (all
                            || time.nanoTime() - queue.peek().dirtySinceNanos
                                    >= rules.publishInterval().toNanos());
        } finally {
            lock.unlock();
        }
    }

    /** Whether nothing waits and nothing is under way. */
    boolean isSettled() {
        lock.lock();
        try {
            return pending == 0 && (!closed || partials.isEmpty());
        } finally {
            lock.unlock();
        }
    }
}
