package io.holdfast.redis.aggregate;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.redis.aggregate.AggregateScripts.Answers;
import io.holdfast.redis.aggregate.AggregateScripts.Sender;
import io.holdfast.redis.aggregate.LocalTable.Shipment;
import io.holdfast.redis.aggregate.Update.Refused;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Brings what waits in the tables of a lane to Redis: at most two calls per shard and round, all shards of the lane at once. At most one
 * round of a lane is under way, so an instance has one publish of a key on its way at a time. An instance has a few lanes, so that
 * one packs or unpacks while Redis works for another.
 */
final class Publisher<T> implements Duty {

    private static final System.Logger LOG = System.getLogger(Publisher.class.getName());
    private static final Duration PAUSE_AFTER_FAILURE = Duration.ofMillis(100);
    private static final int LANES = 2;

    private final String name;
    private final AggregateScripts scripts;
    private final Holds holds;
    private final AggregateRules rules;
    private final AggregateFigures figures;
    private final String part;
    private final int lane;
    private final List<LocalTable<T>> tables;
    private final Executor callbacks;
    private final ReentrantLock rounds = new ReentrantLock();
    /** What {@link Holds#doubts} answered last, of each table. */
    private final int[] doubts;

    Publisher(
            String name,
            AggregateScripts scripts,
            Holds holds,
            AggregateRules rules,
            AggregateFigures figures,
            String part,
            int lane,
            List<LocalTable<T>> tables,
            Executor callbacks) {
        this.name = name;
        this.scripts = scripts;
        this.holds = holds;
        this.rules = rules;
        this.figures = figures;
        this.part = part;
        this.lane = lane;
        this.tables = IntStream.range(0, tables.size())
                .filter(shard -> laneOf(shard) == lane)
                .mapToObj(tables::get)
                .toList();
        this.callbacks = callbacks;
        this.doubts = new int[this.tables.size()];
    }

    static int lanes(int shards) {
        return Math.min(LANES, shards);
    }

    /** The lane that a shard belongs to. */
    static int laneOf(int shard) {
        return shard % LANES;
    }

    private int shard(int index) {
        return lane + index * LANES;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Step step() {
        tables.forEach(LocalTable::leaveUnused);
        Sent sent = round(false);
        if (sent.failure() != null) {
            return Step.restFor(sent.entries(), PAUSE_AFTER_FAILURE);
        }
        boolean more = tables.stream().anyMatch(table -> table.hasMore(false));
        Duration pause = rules.publishInterval().dividedBy(4);
        return more ? Step.again(sent.entries()) : Step.restFor(sent.entries(), pause);
    }

    /** How many keys were sent, and why some got no answer. */
    record Sent(int entries, @Nullable HoldfastException failure) {}

    /** One call that is under way, and of which table. */
    private record Shipped<T>(LocalTable<T> table, Shipment<T> shipment) {}

    /** Sends up to two publishes per shard: of what has waited long enough, or of everything. */
    Sent round(boolean all) {
        List<Shipped<T>> shipped = new ArrayList<>();
        List<Shipment<T>> shipments = new ArrayList<>();
        HoldfastException failure;
        int entries = 0;
        rounds.lock();
        try {
            List<Call> calls = new ArrayList<>();
            for (int i = 0; i < tables.size(); i++) {
                republishIfLost(i);
                for (Shipment<T> shipment : tables.get(i).take(all).both()) {
                    shipments.add(shipment);
                    if (!shipment.entries.isEmpty()) {
                        shipped.add(new Shipped<>(tables.get(i), shipment));
                        calls.add(scripts.publishing(shard(i), sender(shard(i)), shipment.entries, shipment.giving));
                        entries += shipment.entries.size();
                    }
                }
            }
            failure = send(shipped, calls);
        } finally {
            rounds.unlock();
        }
        tell(shipments);
        return new Sent(entries, failure);
    }

    /** After a replaced store, or a lease that was lost, every part of the table goes out again. */
    private void republishIfLost(int index) {
        int now = holds.doubts(shard(index));
        if (now != doubts[index]) {
            doubts[index] = now;
            tables.get(index).doubt();
        }
    }

    private Sender sender(int shard) {
        return new Sender(
                part,
                holds.holder(shard).toString(),
                rules.hardWindow().toMillis(),
                rules.redeliveryWindow().toSeconds(),
                rules.waitingPerShard());
    }

    private @Nullable HoldfastException send(List<Shipped<T>> shipped, List<Call> calls) {
        HoldfastException failure = null;
        List<Outcome> outcomes;
        try {
            outcomes = scripts.all(calls);
        } catch (RuntimeException e) {
            HoldfastException none = unanswered(e);
            outcomes = calls.stream().map(call -> new Outcome(null, none)).toList();
        }
        boolean lapsed = false;
        for (int i = 0; i < shipped.size(); i++) {
            Answers answers = Answers.NONE;
            try {
                answers = AggregateScripts.answers(outcomes.get(i).get());
                lapsed |= answers.each().isEmpty();
            } catch (RuntimeException e) {
                failure = unanswered(e); // whatever it was, what was sent goes out again
            }
            shipped.get(i).table().answered(shipped.get(i).shipment(), answers);
        }
        if (lapsed) {
            failure = new HoldfastException(Category.RETRY, "the lease of this instance had lapsed");
            try {
                holds.heartbeat(); // takes new leases where they are gone
            } catch (RuntimeException e) {
                failure = unanswered(e);
            }
        }
        return failure;
    }

    private static HoldfastException unanswered(RuntimeException e) {
        return e instanceof HoldfastException own
                ? own
                : new HoldfastException(Category.RETRY, "a publish was not answered: " + e, e);
    }

    /**
     * Tells what became of updates, outside of every lock. Stages complete in the executor for callbacks, never in this duty:
     * what depends on one may add, and wait for room that only this duty makes.
     */
    private void tell(List<Shipment<T>> shipments) {
        List<Update<T>> done = new ArrayList<>();
        List<Refused<T>> refused = new ArrayList<>();
        for (Shipment<T> shipment : shipments) {
            done.addAll(shipment.done);
            refused.addAll(shipment.refused);
        }
        done.forEach(Update::done);
        if (!refused.isEmpty()) {
            figures.refused.add(refused.size());
            warn(refused);
        }
        if (!done.isEmpty() || !refused.isEmpty()) {
            complete(() -> {
                done.forEach(update -> update.stage.durable());
                refused.forEach(one -> one.update().stage.refused(one.why()));
            });
        }
    }

    /** An executor that rejects must stop neither the publishing nor {@link Aggregates#close}. */
    private void complete(Runnable stages) {
        try {
            callbacks.execute(stages);
        } catch (RuntimeException e) {
            LOG.log(
                    Level.WARNING,
                    () -> name + ": the executor for callbacks rejects; they run on a virtual thread: " + e);
            AggregatesBuilder.VIRTUAL_THREADS.execute(stages);
        }
    }

    private void warn(List<Refused<T>> refused) {
        Refused<T> first = refused.getFirst();
        SourceProgress source = first.update().progress;
        String where =
                source == null ? "" : " at position " + first.update().position + " of '" + source.source() + "'";
        LOG.log(
                Level.WARNING,
                () -> name + ": " + refused.size() + " updates were refused, the first for key '" + first.key() + "'"
                        + where + ": " + first.why().getMessage()
                        + (source == null ? "" : "; durable() waits there until skip(position) or another delivery"));
    }

    /** Sends what the lanes have until the condition holds; fails with what kept it from being answered. */
    static <T> void until(BooleanSupplier settled, List<Publisher<T>> lanes, Duration patience, Time time) {
        long deadline = time.nanoTime() + patience.toNanos();
        while (!settled.getAsBoolean()) {
            int entries = 0;
            HoldfastException failure = null;
            for (Publisher<T> lane : lanes) {
                Sent sent = lane.round(true);
                entries += sent.entries();
                failure = sent.failure() == null ? failure : sent.failure();
            }
            if (settled.getAsBoolean()) {
                return;
            }
            if (failure != null && !failure.isRetryable()) {
                throw failure;
            }
            if (time.nanoTime() - deadline >= 0) {
                throw new HoldfastException(
                        Category.RETRY, "updates are still not durable after " + patience.toMillis() + " ms", failure);
            }
            if (Thread.currentThread().isInterrupted()) {
                throw new HoldfastException(Category.RETRY, "interrupted while updates were being published", failure);
            }
            if (failure != null || entries == 0) {
                LockSupport.parkNanos(1_000_000);
            }
        }
    }
}
