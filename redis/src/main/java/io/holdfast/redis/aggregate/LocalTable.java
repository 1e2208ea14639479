package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.redis.aggregate.AggregateScripts.Answer;
import io.holdfast.redis.aggregate.AggregateScripts.Entry;
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
    private boolean full;

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

    /** The batch that the update goes with; null if it was durable before. */
    @Nullable
    Batch<T> add(String key, Update<T> update) {
        lock.lock();
        try {
            awaitRoom(key);
            Partial<T> partial = partials.get(key);
            if (partial == null) {
                partial = new Partial<>(key, merge, codec);
            }
            int before = partial.pending();
            Batch<T> batch = partial.add(update);
            partials.put(key, partial);
            pending += partial.pending() - before;
            long now = time.nanoTime();
            partial.usedNanos = now;
            stay(partial);
            if (batch != null && !partial.queued && !partial.hastened && !partial.sending) {
                enqueue(partial, now);
            }
            makeRoom();
            return batch;
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
                throw full
                        ? new HoldfastException(
                                Category.FULL,
                                "too many bytes wait in Redis for the sink, and " + pending + " updates here",
                                "see that the sink works; the bus should deliver this update again later",
                                null)
                        : new HoldfastException(
                                Category.RETRY,
                                "no room for key '" + key + "': " + pending + " updates wait to be published",
                                "let the bus deliver it again; see whether Redis answers",
                                null);
            }
            try {
                left = room.awaitNanos(left);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new HoldfastException(Category.RETRY, "interrupted while waiting for room", e);
            }
        }
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
                leave(partial);
                wanted--;
            }
        }
        hurry.run();
    }

    private boolean isCrowded() {
        return partials.size() - leavingCount > rules.tablePerShard() / 2;
    }

    private void leave(Partial<T> partial) {
        if (!partial.leaving) {
            partial.leaving = true;
            leavingCount++;
        }
        hasten(partial);
    }

    private void stay(Partial<T> partial) {
        if (partial.leaving) {
            partial.leaving = false;
            leavingCount--;
        }
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
                boolean kept = partial.extended && partial.extendedUntilNanos - now > 0;
                if (now - partial.usedNanos >= soft && !partial.leaving && !partial.sending && !kept) {
                    leave(partial);
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
        final List<Batch<T>> done = new ArrayList<>();
        final List<Refused<T>> refused = new ArrayList<>();
        long bytes;
        int ids;

        boolean isFull() {
            return entries.size() >= 128 || bytes > 256 << 10 || ids > 2_000;
        }
    }

    /** What could not be published, and why. */
    record Refused<T>(Batch<T> batch, HoldfastException why) {}

    /** Takes the next publish of what waits: what has waited long enough, or everything. */
    Shipment<T> take(boolean all) {
        Shipment<T> shipment = new Shipment<>();
        lock.lock();
        try {
            long now = time.nanoTime();
            while (!shipment.isFull() && !urgent.isEmpty()) {
                Partial<T> partial = urgent.remove();
                partial.hastened = false;
                put(partial, now, shipment);
            }
            while (!shipment.isFull()
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
                    put(partial, now, shipment);
                }
            }
        } finally {
            lock.unlock();
        }
        return shipment;
    }

    private void put(Partial<T> partial, long now, Shipment<T> shipment) {
        if (!partial.isDirty() && (!partial.leaving || partial.epoch == 0)) {
            forgetIfOver(partial);
            return;
        }
        long leave = partial.leaving ? leaveMillis(partial, now) : -1;
        Partial.Sending<T> sending = partial.send(numbers.incrementAndGet(), leave, rules.partLimit());
        if (sending.refused() != null && sending.why() != null) {
            pending -= sending.refused().updates.size();
            shipment.refused.add(new Refused<>(sending.refused(), sending.why()));
        }
        Entry entry = sending.entry();
        if (entry == null) {
            forgetIfOver(partial);
            return;
        }
        partial.sending = true;
        shipment.partials.add(partial);
        shipment.entries.add(entry);
        shipment.bytes += entry.part() == null ? 0 : entry.part().length;
        shipment.ids += entry.ids().size();
    }

    /** For how long the epoch shall stay open after this instance has left: the rest of the soft window. */
    private long leaveMillis(Partial<T> partial, long now) {
        long until = partial.usedNanos + rules.softWindow().toNanos();
        if (partial.extended && partial.extendedUntilNanos - until > 0) {
            until = partial.extendedUntilNanos;
        }
        return Math.max(0, TimeUnit.NANOSECONDS.toMillis(until - now));
    }

    /** Takes the answers of a publish; without answers everything waits for the next one. */
    void answered(Shipment<T> shipment, List<Answer> answers) {
        lock.lock();
        try {
            for (int i = 0; i < shipment.partials.size(); i++) {
                Partial<T> partial = shipment.partials.get(i);
                partial.sending = false;
                if (answers.isEmpty()) {
                    figures.unanswered.increment();
                    enqueue(partial, time.nanoTime());
                    continue;
                }
                Answer answer = answers.get(i);
                full = answer instanceof Answer.Full;
                int before = partial.pending();
                take(partial, answer, shipment);
                pending -= before - partial.pending();
                if (answer instanceof Answer.Counted) {
                    figures.published.increment();
                    Entry entry = shipment.entries.get(i);
                    figures.publishedBytes.add(entry.part() == null ? 0 : entry.part().length);
                }
                if (forgetIfOver(partial) || !(partial.isDirty() || partial.leaving)) {
                    continue;
                }
                if (answer instanceof Answer.Otherwise || answer instanceof Answer.Seen) {
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

    private void take(Partial<T> partial, Answer answer, Shipment<T> shipment) {
        try {
            boolean wasLeaving = partial.leaving;
            partial.answered(answer, shipment.done, figures);
            if (partial.leaving && !wasLeaving) {
                leavingCount++;
            }
        } catch (RuntimeException e) {
            HoldfastException why = new HoldfastException(
                    Category.CORRUPT,
                    "this instance's own part of key '" + partial.key + "' cannot be read: " + e,
                    "give the codec that wrote it, or close the key",
                    e);
            partial.abandon().forEach(batch -> shipment.refused.add(new Refused<>(batch, why)));
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

    /** Everything of a key goes out as soon as possible; answers whether anything waits. */
    boolean hasten(String key) {
        lock.lock();
        try {
            Partial<T> partial = partials.get(key);
            if (partial == null || !partial.isDirty()) {
                return false;
            }
            hasten(partial);
            return true;
        } finally {
            lock.unlock();
        }
    }

    void extend(String key, long nanos) {
        lock.lock();
        try {
            Partial<T> partial = partials.get(key);
            if (partial != null) {
                partial.extended = true;
                partial.extendedUntilNanos = time.nanoTime() + nanos;
            }
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
                leave(partial);
            }
            room.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** What could not be sent in time; nobody knows whether the last of it counts. */
    List<Batch<T>> abandon() {
        lock.lock();
        try {
            List<Batch<T>> all = new ArrayList<>();
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
