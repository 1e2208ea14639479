package io.holdfast.redis.aggregate;

import io.holdfast.Duty;
import io.holdfast.DutyRunner.Assignment;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ReclaimReason;
import io.holdfast.ThingId;
import io.holdfast.Time;
import io.holdfast.redis.aggregate.AggregateScripts.FrozenAll;
import io.holdfast.redis.hold.HoldSet;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.link.Client;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Many instances add to one record, the last one out writes it, once.
 *
 * <pre>{@code
 * var visits = holdfast.aggregates("visits", Visit.class, Visit::merge).sink(JdbcSink.to(dataSource)).start();
 * visits.add(page, visit, at(partition, offset));
 * bus.acknowledge(visits.durable(partition));
 * }</pre>
 *
 * <h2>The life of a key</h2>
 *
 * <pre>{@code
 *   absent -- first publish --> OPEN -- nobody added for the soft window, or the hard window is over, or close --> CLOSING
 *                                ^                                                                                   |
 *   each instance has a part of its own, and replaces it by a larger one                    merge all parts, sink, commit
 *                                                                                                                    |
 *   absent, and in the ledger  <-------------------------------------------------------------------------------------+
 * }</pre>
 *
 * Every open time of a key is an epoch, with a number that is never used again. What comes after the end of one epoch goes into
 * the next, which may begin while the earlier one is still on its way to the sink. The sink gets one value per (key, epoch).
 *
 * <h2>What is promised</h2>
 *
 * An update is <b>durable</b> when Redis has acknowledged a publish that contains it: then the stage that {@link #add} returned
 * completes, and {@link #durable} covers its position. A durable update is in exactly one epoch, and that is flushed at least
 * once, with the same bytes each time; a sink that writes once per (key, epoch), as {@link JdbcSink} does, makes it exactly once.
 * An update that is not durable when this process dies is lost here, and the bus delivers it again.
 *
 * <h2>How it stays true</h2>
 *
 * <b>Late and repeated publishes.</b> A publish says on top of which earlier one it was made ({@link AggregateScripts}); whatever
 * order two of them arrive in, only one can count, and the store says which ({@link Partial}).
 *
 * <p><b>Redelivered updates.</b> The same script that takes a part refuses positions that were seen for this key, and names them;
 * they are taken out and the rest is sent again. Positions are remembered beyond the end of an epoch, for the redelivery window.
 *
 * <p><b>The end of an epoch</b> is one script that takes the key out of the open ones. A publish either came before, and its
 * part is merged, or is told that the epoch is over, and goes into the next one. Leaving and lapsing never remove a part.
 *
 * <p><b>A replaced store.</b> Nothing lapses and nothing is claimed for one lease; an instance that still has its part of the
 * open epoch in memory puts it back with its next update. What asynchronous replication has lost beyond that is lost.
 *
 * <p>Instances hold a key while they add to it; their leases, the claims on ended epochs and dead letters are those of {@link
 * Holds}. Closing the Holdfast client alone leaves nothing: the leases lapse, and the parts are flushed by the others.
 */
public final class Aggregates<T> implements AutoCloseable {

    private static final int FREEZE_LIMIT = 128;
    private static final Duration LONGEST_CLOSE = Duration.ofSeconds(10);

    private final Holds holds;
    private final AggregateScripts scripts;
    private final AggregateView view;
    private final AggregateFigures figures = new AggregateFigures();
    private final Time time;
    private final String by;
    private final List<Publisher<T>> lanes = new ArrayList<>();
    private final Flushers<T> flushers;
    private final List<LocalTable<T>> tables = new ArrayList<>();
    private final ConcurrentHashMap<String, SourceProgress> sources = new ConcurrentHashMap<>();
    private final List<Assignment> assignments = new ArrayList<>();

    Aggregates(
            Client client,
            ScriptCaller caller,
            String name,
            AggregateRules rules,
            AggregatesBuilder<T> given,
            PartCodec<T> codec) {
        HoldSet set = new HoldSet(ThingId.Kind.AGGREGATE, name, rules.shards(), HoldSet.Mode.HOLDERS);
        var self = client.self().reborn();
        this.by = self.toString();
        this.time = client.time();
        this.holds = new Holds(caller, set, rules.holdRules(), self, time, ReclaimReason.FLUSHED);
        this.scripts = new AggregateScripts(caller, set);
        this.view = new AggregateView(client.link(), set);
        AtomicLong numbers = new AtomicLong();
        for (int shard = 0; shard < rules.shards(); shard++) {
            int lane = Publisher.laneOf(shard);
            tables.add(new LocalTable<>(rules, given.merge(), codec, time, figures, numbers, () -> hurry(lane)));
        }
        String part = HexFormat.of().toHexDigits(self.incarnation());
        String prefix = "aggregates:" + name + " ";
        for (int lane = 0; lane < Publisher.lanes(rules.shards()); lane++) {
            lanes.add(new Publisher<>(prefix + "publish " + lane, scripts, holds, rules, figures, part, lane, tables));
        }
        this.flushers = new Flushers<>(prefix + "claims", client, scripts, holds, rules, figures, given, codec, by);
        holds.start();
        List<Duty> duties = new ArrayList<>(lanes);
        duties.addAll(List.of(
                new HeartbeatDuty(prefix + "heartbeat", holds, rules.heartbeat()),
                flushers,
                new TendDuty(prefix + "tend", scripts, holds, flushers, rules, figures, by, time)));
        duties.forEach(duty -> assignments.add(client.duties().add(duty)));
        flushers.whenFree(assignments.getLast()::wake);
    }

    private void hurry(int lane) {
        assignments.get(lane).wake();
    }

    /** Adds an update that nobody will deliver again. It counts once if this process lives until it is durable. */
    public CompletionStage<@Nullable Void> add(String key, T update) {
        return add(key, update, null, null);
    }

    /**
     * Adds an update. Returns at once, but for waiting for room when too much is under way; then it fails with RETRY, and the
     * bus should deliver the update again.
     *
     * @return completes when the update is durable; fails if it can never be
     */
    public CompletionStage<@Nullable Void> add(String key, T update, Position position) {
        return add(key, update, position, null);
    }

    /** @param eventTime when it happened, by whoever made the update; the sink is told the first and the last of an epoch */
    public CompletionStage<@Nullable Void> add(
            String key, T update, @Nullable Position position, @Nullable Instant eventTime) {
        HoldSet set = holds.set();
        set.check(Objects.requireNonNull(key, "key"));
        if (update == null) {
            throw HoldfastException.misuse("a null update for key '" + key + "'", "give a value");
        }
        long millis = eventTime == null ? Update.NO_EVENT_TIME : eventTime.toEpochMilli();
        Update<T> added = switch (position) {
            case null -> new Update<>(update, null, -1, null, millis);
            case Position.Ordered ordered -> {
                SourceProgress progress = progress(ordered.source());
                progress.check(ordered.position());
                yield new Update<>(update, progress, ordered.position(), null, millis);
            }
            case Position.Unordered unordered ->
                new Update<>(update, null, -1, Digest.of(unordered.source(), unordered.id(), key), millis);
        };
        Batch<T> batch = tables.get(set.shardOf(key)).add(key, added);
        figures.updates.increment();
        return batch == null ? CompletableFuture.completedFuture(null) : batch.stage;
    }

    private SourceProgress progress(String source) {
        SourceProgress known = sources.get(source);
        return known != null ? known : sources.computeIfAbsent(source, SourceProgress::new);
    }

    /**
     * Up to which position of an ordered source everything that was added here is durable; -1 if nothing is. Add all updates of
     * one position before asking.
     */
    public long durable(String source) {
        SourceProgress progress = sources.get(source);
        return progress == null ? -1 : progress.durable();
    }

    public long durable(int partition) {
        return durable(Integer.toString(partition));
    }

    /**
     * The bus will deliver an ordered source again from an earlier position: the partition was assigned anew. What counts
     * already is recognised; {@link #durable} begins again.
     */
    public void rewind(String source) {
        sources.remove(source);
    }

    /** Publishes everything now; returns when it is durable, or fails with RETRY. */
    public void publish() {
        publish(() -> tables.stream().allMatch(LocalTable::isSettled), lanes);
    }

    private void publish(BooleanSupplier settled, List<Publisher<T>> some) {
        Publisher.until(settled, some, LONGEST_CLOSE, time);
    }

    /** Publishes what was added to a key here. */
    private void publish(int shard, String key) {
        publish(() -> !tables.get(shard).hasten(key), List.of(lanes.get(Publisher.laneOf(shard))));
    }

    /**
     * Ends the open epoch of a key, whoever holds it, with everything that was added here so far.
     *
     * @return the epoch; 0 if the key is not open
     */
    public long close(String key) {
        int shard = holds.set().shardOf(holds.set().check(key));
        publish(shard, key);
        long epoch = scripts.freeze(shard, by, "closed by " + by, key);
        if (epoch < 0) {
            throw new HoldfastException(
                    Category.RETRY,
                    "too many earlier epochs of '" + key + "' wait for the sink",
                    "see that the sink works, then try again",
                    null);
        }
        assignments.getLast().wake();
        return epoch;
    }

    /**
     * Ends every epoch of the set that is open now, whoever holds it; answers how many. If a shard cannot be reached, those of
     * the others are ended all the same before it fails with RETRY.
     */
    public long closeAll() {
        publish();
        long ended = 0;
        HoldfastException failure = null;
        for (int shard = 0; shard < tables.size(); shard++) {
            try {
                ended += closeAll(shard);
            } catch (HoldfastException e) {
                failure = e;
            }
        }
        assignments.getLast().wake();
        if (failure != null) {
            throw failure;
        }
        return ended;
    }

    private long closeAll(int shard) {
        // Epochs are the server's microseconds, or a little more; those of later calls are higher.
        long before = view.nowMillis(shard) * 1_000 + 1_000;
        long ended = 0;
        long offset = 0;
        while (true) {
            FrozenAll step = scripts.freezeAll(shard, by, "closed by " + by, before, offset, FREEZE_LIMIT);
            ended += step.frozen();
            offset += step.looked() - step.frozen();
            if (step.looked() < FREEZE_LIMIT) {
                return ended;
            }
        }
    }

    /** Keeps the open epoch of a key open for at least so long from now, beyond its windows; GONE if it is not open. */
    public void extend(String key, Duration by) {
        Duration checked = AggregateSettings.HARD_WINDOW.check(by);
        int shard = holds.set().shardOf(holds.set().check(key));
        publish(shard, key);
        if (scripts.extend(shard, key, checked.toMillis()) < 0) {
            throw new HoldfastException(Category.GONE, "no open aggregate '" + key + "' in " + holds.set());
        }
        tables.get(shard).extend(key, checked.toNanos());
    }

    /** The set as an observer sees it. */
    public AggregateView view() {
        return view;
    }

    public AggregateFigures figures() {
        return figures;
    }

    public String name() {
        return holds.set().name();
    }

    /** How many keys this instance has at hand. */
    public int keys() {
        return tables.stream().mapToInt(LocalTable::size).sum();
    }

    /** How many updates of this instance are not durable yet. */
    public int pending() {
        return tables.stream().mapToInt(LocalTable::pending).sum();
    }

    /** How many batches are on their way to the sink. */
    public int flushing() {
        return flushers.runningCount();
    }

    /**
     * Stops: publishes everything, leaves every key, and gives the leases up. Keys stay open for the rest of their soft window,
     * and other instances flush them. If Redis cannot be reached, what is not durable fails with RETRY.
     */
    @Override
    public void close() {
        tables.forEach(LocalTable::close);
        try {
            publish();
        } catch (HoldfastException e) {
            HoldfastException lost = new HoldfastException(
                    Category.RETRY, "closed before the update was durable; it may count or not", e);
            tables.forEach(table -> table.abandon().forEach(batch -> batch.stage.completeExceptionally(lost)));
        }
        assignments.forEach(Assignment::close);
        holds.leave();
    }
}
