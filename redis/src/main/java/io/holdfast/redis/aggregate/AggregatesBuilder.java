package io.holdfast.redis.aggregate;

import io.holdfast.Setting;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.link.Client;
import io.holdfast.redis.link.RedisLedger;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.BinaryOperator;
import org.jspecify.annotations.Nullable;

/** Collects what a set of aggregates needs; {@link #start()} refuses nonsense by the name of the setting. */
public final class AggregatesBuilder<T> {

    /** Where callbacks run unless the user says otherwise. */
    static final Executor VIRTUAL_THREADS =
            task -> Thread.ofVirtual().name("holdfast-aggregates-callbacks").start(task);

    private final Client client;
    private final String name;
    private final Class<T> type;
    private final BinaryOperator<T> merge;
    private final Map<Setting<?>, Object> given = new HashMap<>();
    private @Nullable Codec<T> codec;
    private @Nullable Sink<T> sink;
    private Executor executor =
            task -> Thread.ofPlatform().daemon().name("holdfast-aggregates").start(task);
    private Executor callbacks = VIRTUAL_THREADS;
    private boolean tends;
    private ScriptCaller caller;

    public AggregatesBuilder(Client client, String name, Class<T> type, BinaryOperator<T> merge) {
        this.client = client;
        this.name = name;
        this.type = type;
        this.merge = merge;
        this.caller = ScriptCaller.by(client.link());
    }

    /** Where merged values go; instances without a sink flush nothing. */
    public AggregatesBuilder<T> sink(Sink<T> sink) {
        this.sink = sink;
        return this;
    }

    /** How values become bytes; otherwise {@link RecordCodec}. All instances must read what the others write. */
    public AggregatesBuilder<T> codec(Codec<T> codec) {
        this.codec = codec;
        return this;
    }

    /** An epoch ends when no instance has added to it for so long, but not after its hard window. Default 15 min. */
    public AggregatesBuilder<T> softWindow(Duration window) {
        return set(AggregateSettings.SOFT_WINDOW, window);
    }

    /** The longest time an epoch stays open, even if updates keep coming. Default 30 min; at least the soft window. */
    public AggregatesBuilder<T> hardWindow(Duration window) {
        return set(AggregateSettings.HARD_WINDOW, window);
    }

    /** How long an update may wait in this instance before it is published. */
    public AggregatesBuilder<T> publishInterval(Duration interval) {
        return set(AggregateSettings.PUBLISH_INTERVAL, interval);
    }

    /** Sets any of {@link AggregateSettings} in code; it beats properties and environment. */
    public <V> AggregatesBuilder<T> set(Setting<V> setting, V value) {
        given.put(setting, setting.check(value));
        return this;
    }

    /** Where the sink is called; otherwise in a thread for each batch, of which there are few at a time. */
    public AggregatesBuilder<T> executor(Executor executor) {
        this.executor = executor;
        return this;
    }

    /**
     * Where the stages that {@code add} returned complete, and so where what depends on them runs; otherwise in a virtual thread
     * for each publish. Never give one that runs tasks in the calling thread: that is the one that publishes.
     */
    public AggregatesBuilder<T> callbacks(Executor callbacks) {
        this.callbacks = callbacks;
        return this;
    }

    /** Adds nothing, but tends what other instances add to: windows are theirs. */
    public AggregatesBuilder<T> tending() {
        this.tends = true;
        return this;
    }

    /** For tests that lose, delay and repeat calls. */
    AggregatesBuilder<T> through(ScriptCaller caller) {
        this.caller = caller;
        return this;
    }

    /** Takes this instance's leases and begins to publish and to flush. */
    public Aggregates<T> start() {
        AggregateRules rules = AggregateRules.of(this::value, client.settings().get(RedisLedger.CAPACITY), tends);
        Codec<T> used = codec == null ? RecordCodec.of(type) : codec;
        return new Aggregates<>(client, caller, name, rules, this, new PartCodec<>(used));
    }

    BinaryOperator<T> merge() {
        return merge;
    }

    @Nullable
    Sink<T> sink() {
        return sink;
    }

    Executor executor() {
        return executor;
    }

    Executor callbacks() {
        return callbacks;
    }

    @SuppressWarnings("unchecked") // set() is the only writer and keeps key and value of one type
    private <V> V value(Setting<V> setting) {
        Object set = given.get(setting);
        return set != null ? (V) set : client.settings().get(setting);
    }
}
