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
import io.holdfast.redis.hold.MendingCaller;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.link.Client;
import io.holdfast.redis.link.Opened;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BinaryOperator;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Many instances add to one record, the last one out writes it, once.
 *
 * <pre>{@code
 * var visits = holdfast.aggregates("visits", Visit.class, Visit::merge).sink(JdbcSink.to(dataSource)).start();
 * visits.add(page, visit, at(topic, partition, offset));
 * visits.durable(topic, partition).ifPresent(bus::acknowledge);
 * }</pre>
 *
 * <h2>The life of a key</h2>
 *
 * <pre>{@code
 *   absent -- first publish --> OPEN -- no update for the soft window, or the hard window is over, or end --> CLOSING
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
 * An update that is not durable when this process dies is lost here, and the bus delivers it again. An update that can never be
 * published is <b>refused</b>: its stage fails, {@link #durable} stays before it until {@link #skip} or another delivery, and it
 * counts when it is delivered again and fits.
 *
 * <h2>Windows</h2>
 *
 * The hard end of an epoch is fixed when the epoch begins. The soft end is never after it. {@link #extend} moves
 * both; of several extensions the latest holds, and it outlives the instance that asked for it.
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
 * <p><b>A replaced store.</b> Nothing lapses and nothing is claimed for one lease; an instance publishes every part that it has
 * in memory again at once, also of an epoch that the store lost as a whole. What else asynchronous replication lost is lost.
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
    private final BinaryOperator<T> merge;
    private final PartCodec<T> codec;
    private final List<Assignment> assignments = new ArrayList<>();
    private final Opened opened;

    Aggregates(
            Client client,
            ScriptCaller caller,
            String name,
            AggregateRules rules,
            AggregatesBuilder<T> given,
            PartCodec<T> codec) {
        HoldSet set = new HoldSet(ThingId.Kind.AGGREGATE, name, rules.shards(), HoldSet.Mode.HOLDERS);
        var self = client.self().reborn(client.random());
        this.by = self.toString();
        this.time = client.time();
        this.merge = given.merge();
        this.codec = codec;
        AggregateScripts unmended = new AggregateScripts(caller, set);
        ScriptCaller mending = new MendingCaller(caller, set, rules.softWindow(), unmended::rebuild, time);
        this.holds = new Holds(mending, set, rules.holdRules(), self, time, client.random(), ReclaimReason.FLUSHED);
        this.scripts = new AggregateScripts(mending, set);
        this.view = new AggregateView(client.link(), set);
        AtomicLong numbers = new AtomicLong();
        for (int shard = 0; shard < rules.shards(); shard++) {
            int lane = Publisher.laneOf(shard);
            tables.add(new LocalTable<>(rules, given.merge(), codec, time, figures, numbers, () -> hurry(lane)));
        }
        String part = HexFormat.of().toHexDigits(self.incarnation());
        String prefix = "aggregates:" + name + " ";
        for (int lane = 0; lane < Publisher.lanes(rules.shards()); lane++) {
            lanes.add(new Publisher<>(
                    prefix + "publish " + lane, scripts, holds, rules, figures, part, lane, tables, given.callbacks()));
        }
        this.flushers = new Flushers<>(prefix + "claims", client, scripts, holds, rules, figures, given, codec, by);
        holds.start();
        List<Duty> duties = new ArrayList<>(lanes);
        duties.addAll(List.of(
                new HeartbeatDuty(prefix + "heartbeat", holds, rules.heartbeat()),
                flushers.runner,
                new TendDuty(prefix + "tend", scripts, holds, flushers, rules, figures, by, client.random())));
        duties.forEach(duty -> assignments.add(client.duties().add(duty)));
        this.opened = client.opened();
        opened.add(this);
        flushers.runner.whenFree(assignments.getLast()::wake);
    }

    private void hurry(int lane) {
        assignments.get(lane).wake();
    }

    /** Adds an update that nobody will deliver again. It counts once if this process lives until it is durable. */
    public CompletionStage<@Nullable Void> add(String key, T update) {
        return add(key, update, null, null);
    }

    /**
     * Adds an update. Waits up to {@code aggregates.add-wait} if too much is under way, and not for Redis otherwise.
     *
     * @return completes when the update is durable; fails if it can never be. Callers cannot complete it. What depends
     *     on it runs in the executor for callbacks ({@link AggregatesBuilder#callbacks}), by default a virtual thread, and may
     *     add.
     * @throws HoldfastException RETRY if there is no room: the bus should deliver the update again; FULL if too much waits for
     *     the sink, or too many refused updates of the source were not skipped; MISUSE for a key, an update or a position that
     *     cannot be right
     */
    public CompletionStage<@Nullable Void> add(String key, T update, Position position) {
        return add(key, update, position, null);
    }

    /** @param eventTime when it happened, by whoever made the update; the sink is told the first and the last of an epoch */
    public CompletionStage<@Nullable Void> add(
            String key, T update, @Nullable Position position, @Nullable Instant eventTime) {
        SourceProgress.Place place = begin(position);
        try {
            return addAt(place, key, update, position, eventTime);
        } finally {
            complete(place);
        }
    }

    /**
     * Adds the updates of one message, one for each key. {@link #durable} does not cover the position before all of them are
     * durable, and after a failure the same call may be repeated: what was added already counts once.
     *
     * @return completes when all of them are durable; fails if one can never be
     * @throws HoldfastException as {@link #add}
     */
    public CompletionStage<@Nullable Void> addAll(Position position, Map<String, T> updates) {
        SourceProgress.Place place = begin(position);
        CompletableFuture<@Nullable Void> all = CompletableFuture.completedFuture(null);
        Set<String> left = new LinkedHashSet<>(updates.keySet());
        try {
            updates.forEach(this::check);
            for (Map.Entry<String, T> one : updates.entrySet()) {
                CompletionStage<@Nullable Void> added = addAt(place, one.getKey(), one.getValue(), position, null);
                left.remove(one.getKey());
                all = all.thenCombine(added, (nothing, neither) -> null);
            }
        } finally {
            if (place != null) {
                left.forEach(key -> place.progress().failed(place, key)); // none if all were added
            }
            complete(place);
        }
        return all.minimalCompletionStage();
    }

    /** Until {@link #complete} the position of an ordered source is not durable, whatever other threads add after it. */
    private SourceProgress.@Nullable Place begin(@Nullable Position position) {
        return position instanceof Position.Ordered ordered
                ? progress(ordered.source()).begin(ordered.position())
                : null;
    }

    private static void complete(SourceProgress.@Nullable Place place) {
        if (place != null) {
            place.progress().complete(place);
        }
    }

    private void check(String key, T update) {
        holds.set().check(Objects.requireNonNull(key, "key"));
        if (update == null) {
            throw HoldfastException.misuse("a null update for key '" + key + "'", "give a value");
        }
    }

    private CompletionStage<@Nullable Void> addAt(
            SourceProgress.@Nullable Place place,
            String key,
            T value,
            @Nullable Position position,
            @Nullable Instant eventTime) {
        byte[] id = position instanceof Position.Unordered unordered
                ? Digest.of(unordered.source(), unordered.id(), key)
                : null;
        long millis = eventTime == null ? Update.NO_EVENT_TIME : eventTime.toEpochMilli();
        Update<T> update = new Update<>(value, place, id, millis);
        try {
            check(key, value);
        } catch (RuntimeException e) {
            update.failed(key);
            throw e;
        }
        Update<T> added = tables.get(holds.set().shardOf(key)).add(key, update);
        figures.updates.increment();
        return added == null ? CompletableFuture.completedStage(null) : added.stage;
    }

    private SourceProgress progress(String source) {
        SourceProgress known = sources.get(source);
        return known != null ? known : sources.computeIfAbsent(source, SourceProgress::new);
    }

    /**
     * Up to which position of an ordered source everything that was added here is durable, but for what was skipped; empty if
     * nothing is. With messages of several keys use {@link #addAll}, or add all updates of a position before asking.
     */
    public OptionalLong durable(String source) {
        SourceProgress progress = sources.get(source);
        return progress == null ? OptionalLong.empty() : progress.durable();
    }

    /** The same for a partition of a topic. */
    public OptionalLong durable(String topic, int partition) {
        return durable(Position.source(topic, partition));
    }

    /**
     * Gives up what was refused at a position of an ordered source: {@link #durable} goes on past it. Also for a message that
     * was never added, because it cannot be read.
     *
     * @throws HoldfastException MISUSE for a position of an unordered source, whose messages are acknowledged one by one
     */
    public void skip(Position position) {
        if (!(position instanceof Position.Ordered ordered)) {
            throw HoldfastException.misuse(
                    "skip of a message of the unordered source '" + position.source() + "'",
                    "acknowledge the message at the bus when its stage fails");
        }
        progress(ordered.source()).skip(ordered.position());
    }

    /**
     * The bus will deliver an ordered source again from an earlier position: the partition was assigned anew. What counts
     * already is recognised; {@link #durable} begins again.
     */
    public void rewind(String source) {
        sources.computeIfPresent(source, (name, progress) -> progress.rewound());
    }

    /** The same for a partition of a topic. */
    public void rewind(String topic, int partition) {
        rewind(Position.source(topic, partition));
    }

    /** Publishes everything now; returns when it is durable, or fails with RETRY. */
    public void publish() {
        publish(() -> tables.stream().allMatch(LocalTable::isSettled), lanes);
    }

    private void publish(BooleanSupplier settled, List<Publisher<T>> some) {
        Publisher.until(settled, some, LONGEST_CLOSE, time);
    }

    /** Publishes what was added to a key here. */
    private void publish(int shard, String key, boolean giving) {
        publish(() -> !tables.get(shard).hasten(key, giving), List.of(lanes.get(Publisher.laneOf(shard))));
    }

    /**
     * The merged value of the open epoch of a key: what all instances have published, and what was added here, which is published
     * first. It changes nothing else.
     *
     * @return empty if the key is not open
     * @throws HoldfastException RETRY if Redis does not answer; CORRUPT if a part cannot be read
     */
    public Optional<T> peek(String key) {
        int shard = holds.set().shardOf(holds.set().check(key));
        publish(shard, key, false);
        T value = null;
        for (PartCodec.Named named : PartCodec.unpack(scripts.peek(shard, key))) {
            T part = codec.decode(named.bytes()).value();
            value = value == null ? part : Partial.merged(merge, value, part);
        }
        return Optional.ofNullable(value);
    }

    /**
     * Ends the open epoch of a key with everything that was added here so far.
     *
     * @return the epoch; 0 if the key is not open
     * @throws HoldfastException RETRY while another instance holds the key, if too many earlier epochs of it wait for the sink, or
     *     if Redis does not answer
     */
    public long end(String key) {
        return end(key, false);
    }

    /** Ends the open epoch of a key, also while others hold it; what they have not published yet goes into the next one. */
    public long forceEnd(String key) {
        return end(key, true);
    }

    private long end(String key, boolean forced) {
        int shard = holds.set().shardOf(holds.set().check(key));
        publish(shard, key, true);
        String lease = forced ? "" : "," + holds.holder(shard);
        long epoch = AggregateView.epochOf(key, scripts.freeze(shard, by, "ended by " + by, lease, key));
        assignments.getLast().wake();
        return epoch;
    }

    /**
     * Ends every epoch of the set that is open now, whoever holds it; answers how many. If a shard cannot be reached, those of
     * the others are ended all the same before it fails with RETRY.
     */
    public long endAll() {
        publish();
        long ended = 0;
        HoldfastException failure = null;
        for (int shard = 0; shard < tables.size(); shard++) {
            try {
                ended += endAll(shard);
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

    private long endAll(int shard) {
        // Epochs are the server's microseconds, or a little more; those of later calls are higher.
        long before = view.nowMillis(shard) * 1_000 + 1_000;
        long ended = 0;
        String cursor = "0";
        do {
            FrozenAll step = scripts.freezeAll(shard, by, "ended by " + by, before, cursor, FREEZE_LIMIT);
            ended += step.frozen();
            cursor = step.cursor();
        } while (!cursor.equals("0"));
        return ended;
    }

    /**
     * Keeps the open epoch of a key open for at least so long from now, beyond its windows, also if instances leave or die. The latest
     * of several extensions holds.
     *
     * @throws HoldfastException GONE if the key is not open; RETRY if Redis does not answer
     */
    public void extend(String key, Duration by) {
        Duration checked = AggregateSettings.HARD_WINDOW.check(by);
        int shard = holds.set().shardOf(holds.set().check(key));
        publish(shard, key, false);
        if (scripts.extend(shard, key, checked.toMillis()) < 0) {
            throw new HoldfastException(Category.GONE, "no open aggregate '" + key + "' in " + holds.set());
        }
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
        return flushers.runner.running();
    }

    /**
     * Stops this instance: publishes everything, leaves every key, and gives the leases up. It ends no epoch: keys stay open for
     * the rest of their soft window, and other instances flush them. If Redis cannot be reached, what is not durable fails with
     * RETRY.
     */
    @Override
    public void close() {
        if (!opened.remove(this)) {
            return;
        }
        assignments.getLast().close();
        tables.forEach(LocalTable::close);
        try {
            publish();
        } catch (HoldfastException e) {
            HoldfastException lost = new HoldfastException(
                    Category.RETRY, "closed before the update was durable; it may count or not", e);
            tables.forEach(table -> table.abandon().forEach(update -> update.stage.refused(lost)));
        }
        flushers.runner.drain(LONGEST_CLOSE);
        assignments.forEach(Assignment::close);
        holds.leave();
    }
}
