package io.holdfast.redis.aggregate;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.redis.aggregate.AggregateScripts.Answer;
import io.holdfast.redis.aggregate.AggregateScripts.Sender;
import io.holdfast.redis.aggregate.LocalTable.Shipment;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Brings what waits in the tables of a lane to Redis: one call per shard and round, all shards of the lane at once. At most one
 * round of a lane is under way, so an instance has one publish of a key on its way at a time. An instance has a few lanes, so that
 * one packs or unpacks while Redis works for another.
 */
final class Publisher<T> implements Duty {

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
    private final ReentrantLock rounds = new ReentrantLock();

    Publisher(
            String name,
            AggregateScripts scripts,
            Holds holds,
            AggregateRules rules,
            AggregateFigures figures,
            String part,
            int lane,
            List<LocalTable<T>> tables) {
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
        Round round = round(false);
        if (round.failure() != null) {
            return Step.restFor(round.entries(), PAUSE_AFTER_FAILURE);
        }
        boolean more = tables.stream().anyMatch(table -> table.hasMore(false));
        Duration pause = rules.publishInterval().dividedBy(4);
        return more ? Step.again(round.entries()) : Step.restFor(round.entries(), pause);
    }

    /** How many keys were sent, and why some got no answer. */
    record Round(int entries, @Nullable HoldfastException failure) {}

    /** Sends one publish per shard: of what has waited long enough, or of everything. */
    Round round(boolean all) {
        List<Shipment<T>> shipments = new ArrayList<>();
        HoldfastException failure;
        int entries = 0;
        rounds.lock();
        try {
            List<Call> calls = new ArrayList<>();
            for (int i = 0; i < tables.size(); i++) {
                Shipment<T> shipment = tables.get(i).take(all);
                shipments.add(shipment);
                if (!shipment.entries.isEmpty()) {
                    calls.add(scripts.publishing(shard(i), sender(shard(i)), shipment.entries));
                    entries += shipment.entries.size();
                }
            }
            failure = send(shipments, calls);
        } finally {
            rounds.unlock();
        }
        shipments.forEach(this::tell);
        return new Round(entries, failure);
    }

    private Sender sender(int shard) {
        return new Sender(
                part,
                holds.holder(shard).toString(),
                rules.hardWindow().toMillis(),
                rules.redeliveryWindow().toSeconds(),
                rules.waitingPerShard());
    }

    private @Nullable HoldfastException send(List<Shipment<T>> shipments, List<Call> calls) {
        HoldfastException failure = null;
        List<Outcome> outcomes;
        try {
            outcomes = scripts.all(calls);
        } catch (RuntimeException e) {
            HoldfastException none = unanswered(e);
            outcomes = calls.stream().map(call -> new Outcome(null, none)).toList();
        }
        int next = 0;
        boolean lapsed = false;
        for (int i = 0; i < shipments.size(); i++) {
            Shipment<T> shipment = shipments.get(i);
            if (shipment.entries.isEmpty()) {
                continue;
            }
            Outcome outcome = outcomes.get(next++);
            List<Answer> answers = List.of();
            try {
                answers = AggregateScripts.answers(outcome.get());
                lapsed |= answers.isEmpty();
            } catch (RuntimeException e) {
                failure = unanswered(e); // whatever it was, what was sent goes out again
            }
            tables.get(i).answered(shipment, answers);
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

    /** Tells what became of updates, outside of every lock, since what waits for it is not ours. */
    private void tell(Shipment<T> shipment) {
        shipment.done.forEach(Publisher::durable);
        shipment.refused.forEach(one -> {
            figures.refused.add(one.batch().updates.size());
            one.batch().stage.completeExceptionally(one.why());
        });
    }

    private static void durable(Batch<?> batch) {
        batch.updates.forEach(update -> {
            if (update.progress != null) {
                update.progress.done(update);
            }
        });
        batch.stage.complete(null);
    }

    /** Sends what the lanes have until the condition holds; fails with what kept it from being answered. */
    static <T> void until(BooleanSupplier settled, List<Publisher<T>> lanes, Duration patience, Time time) {
        long deadline = time.nanoTime() + patience.toNanos();
        while (!settled.getAsBoolean()) {
            int entries = 0;
            HoldfastException failure = null;
            for (Publisher<T> lane : lanes) {
                Round round = lane.round(true);
                entries += round.entries();
                failure = round.failure() == null ? failure : round.failure();
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
            if (failure != null || entries == 0) {
                LockSupport.parkNanos(1_000_000);
            }
        }
    }
}
