package io.holdfast.redis.session;

import io.holdfast.HoldfastException;
import io.holdfast.Setting;
import io.holdfast.ThingId;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.link.Client;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Collects what a set of sessions needs; {@link #start()} refuses nonsense by the name of the setting. */
public final class SessionsBuilder {

    private static final System.Logger LOG = System.getLogger(SessionsBuilder.class.getName());

    private final Client client;
    private final String name;
    private final Map<Setting<?>, Object> given = new HashMap<>();
    private @Nullable Duration idle;
    private boolean overlapEpochs;
    private boolean tends;
    private @Nullable Executor executor;
    private ScriptCaller caller;
    private @Nullable Consumer<SessionClaim> onClose;
    private Consumer<SessionActivation> onActivate = activation -> {};
    private Consumer<List<SessionLost>> onLost = lost -> {};
    private Consumer<List<SessionRegained>> onRegained = regained -> {};

    public SessionsBuilder(Client client, String name) {
        this.client = client;
        this.name = name;
        this.caller = ScriptCaller.by(client.link());
    }

    /** From the last release to the close: the time in which a client may come back. */
    public SessionsBuilder grace(Duration grace) {
        return set(SessionSettings.GRACE, grace);
    }

    /** How long this instance's holds outlive its last sign of life. */
    public SessionsBuilder lease(Duration lease) {
        return set(SessionSettings.LEASE, lease);
    }

    /** No holders: a session lives for this long after the last {@link Sessions#touch}. */
    public SessionsBuilder idle(Duration idle) {
        this.idle = SessionSettings.GRACE.check(idle);
        if (idle.isZero()) {
            throw HoldfastException.misuse("an idle time of zero", "give a time longer than zero");
        }
        return this;
    }

    /** Lets a new life of a session begin while an earlier one is still being closed. */
    public SessionsBuilder overlapEpochs() {
        this.overlapEpochs = true;
        return this;
    }

    /** Sets any of {@link SessionSettings} in code; it beats properties and environment. */
    public <T> SessionsBuilder set(Setting<T> setting, T value) {
        given.put(setting, setting.check(value));
        return this;
    }

    /**
     * This instance begins to serve a session. Runs in the thread that acquires, which fails if this throws. For a session that
     * was lost and is regained in a new life it runs before {@code onRegained}, where that runs.
     */
    public SessionsBuilder onActivate(Consumer<SessionActivation> handler) {
        this.onActivate = handler;
        return this;
    }

    /**
     * Nobody serves the session any more. Runs at least once for each life of a session, in any instance that has this
     * handler; instances without one close nothing. Whatever it throws leads to another attempt.
     */
    public SessionsBuilder onClose(Consumer<SessionClaim> handler) {
        this.onClose = handler;
        return this;
    }

    /** This instance can no longer be sure of sessions that it serves: all that it found at the same time in one call. */
    public SessionsBuilder onLost(Consumer<List<SessionLost>> handler) {
        this.onLost = handler;
        return this;
    }

    /** It is sure of them again. */
    public SessionsBuilder onRegained(Consumer<List<SessionRegained>> handler) {
        this.onRegained = handler;
        return this;
    }

    /**
     * Where {@code onClose}, {@code onLost} and {@code onRegained} run. Otherwise {@code onClose} runs in a virtual thread for
     * each session, and the others one after the other on a platform thread.
     */
    public SessionsBuilder executor(@Nullable Executor executor) {
        this.executor = executor;
        return this;
    }

    /** Serves nothing, but tends what other instances serve: the grace is theirs. */
    public SessionsBuilder tending() {
        this.tends = true;
        return this;
    }

    /** For tests that lose, delay and repeat calls. */
    SessionsBuilder through(ScriptCaller caller) {
        this.caller = caller;
        return this;
    }

    /** Takes this instance's leases and begins to serve and to close. */
    public Sessions start() {
        SessionRules rules = SessionRules.of(this::value, idle, overlapEpochs, tends);
        Executor closing = executor == null ? Thread::startVirtualThread : executor;
        Executor telling = executor == null ? SessionsBuilder::onPlatformThread : orElsePlatformThread(executor);
        SessionHandlers handlers = new SessionHandlers(closing, telling, onClose, onActivate, onLost, onRegained);
        return new Sessions(client, caller, name, rules, handlers);
    }

    private static void onPlatformThread(Runnable task) {
        Thread.ofPlatform().daemon().name("holdfast-session-callbacks").start(task);
    }

    /** An executor that refuses must not swallow a loss. */
    private static Executor orElsePlatformThread(Executor given) {
        return task -> {
            try {
                given.execute(task);
            } catch (RuntimeException e) {
                LOG.log(
                        Level.WARNING,
                        () -> "the executor refused a session callback; it runs on its own thread: " + e);
                onPlatformThread(task);
            }
        };
    }

    /** Looks at the set as it is stored, without taking part; empty if there is none of this name. */
    public Optional<HoldView> look() {
        return HoldView.find(client.link(), ThingId.Kind.SESSION, name);
    }

    @SuppressWarnings("unchecked") // set() is the only writer and keeps key and value of one type
    private <T> T value(Setting<T> setting) {
        Object set = given.get(setting);
        return set != null ? (T) set : client.settings().get(setting);
    }
}
