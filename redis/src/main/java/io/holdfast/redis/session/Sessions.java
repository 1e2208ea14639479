package io.holdfast.redis.session;

import io.holdfast.Duty;
import io.holdfast.DutyRunner.Assignment;
import io.holdfast.HoldfastException;
import io.holdfast.ReclaimReason;
import io.holdfast.ThingId;
import io.holdfast.redis.hold.Held;
import io.holdfast.redis.hold.HoldRules;
import io.holdfast.redis.hold.HoldSet;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.MendingCaller;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.link.Client;
import io.holdfast.redis.link.Opened;
import io.holdfast.redis.link.RedisLedger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Sessions that several instances may serve at the same time, and that are closed once when none does any more.
 *
 * <pre>{@code
 * var rooms = holdfast.sessions("rooms").grace(ofSeconds(30)).onClose(claim -> stop(claim.id(), claim.token())).start();
 * try (var hold = rooms.acquire(roomId)) { serve(socket); }
 * }</pre>
 *
 * <h2>The life of a session</h2>
 *
 * <pre>{@code
 *   absent -- acquire --> LIVE -- last release, or the last holder's lease lapsed --> GRACE -- grace over --> CLOSING
 *                          ^                                                            |                       |
 *                          +------------------------- acquire --------------------------+        onClose, commit
 *                                                                                                               |
 *   absent, and in the ledger  <--------------------------------------------------------------------------------+
 * }</pre>
 *
 * A session that is acquired while it is CLOSING begins a new life, with a new epoch. By default {@link #acquire}
 * returns when the old one is closed; with {@link SessionsBuilder#overlapEpochs} at once.
 *
 * <p>Each instance counts its own clients ({@link #acquire} per connection) and holds a session once, whatever their
 * number. Holds hang on the instance's lease, which a heartbeat renews at the same cost for one session and for a hundred
 * thousand. An instance that dies is noticed by the others when its lease lapses: what only it served is closed within
 * lease + grace + one poll, and nobody has to do anything.
 *
 * <p><b>What is promised.</b> A session is never closed while a holder that has not lapsed is recorded. {@code onClose} runs at
 * least once for each life, and for one (id, epoch) in one instance at a time as long as handlers keep to their time; see
 * {@link SessionClaim} for exactly once. How this stays true when calls are late, lost or repeated and when the store is
 * replaced is told in {@link Holds}.
 *
 * <p><b>Idle mode</b> ({@link SessionsBuilder#idle}) is for sessions without connections: {@link #touch} lets one live for another
 * idle time, and there are no holders.
 */
public final class Sessions implements AutoCloseable {

    private static final Duration LONGEST_DRAIN = Duration.ofSeconds(10);

    private final Holds holds;
    private final HoldView view;
    private final Serving serving;
    private final Closers closers;
    private final SessionFigures figures = new SessionFigures();
    private final List<Assignment> assignments = new ArrayList<>();
    private final HoldSet.Mode mode;
    private final Duration closingWait;
    private final String by;
    private final Opened opened;

    Sessions(Client client, ScriptCaller caller, String name, SessionRules rules, SessionHandlers handlers) {
        this.mode = rules.idle() == null ? HoldSet.Mode.HOLDERS : HoldSet.Mode.IDLE;
        HoldSet set = new HoldSet(ThingId.Kind.SESSION, name, rules.shards(), mode);
        Duration grace = rules.idle() == null ? rules.grace() : rules.idle();
        HoldRules holdRules = new HoldRules(
                rules.lease(),
                grace,
                rules.claim(),
                rules.attempts(),
                rules.overlapEpochs(),
                client.settings().get(RedisLedger.CAPACITY),
                rules.tends() ? List.of() : List.of("grace", Long.toString(grace.toMillis())));
        ScriptCaller mending = new MendingCaller(caller, set, grace, shard -> false, client.time());
        this.holds = new Holds(
                mending,
                set,
                holdRules,
                client.self().reborn(client.random()),
                client.time(),
                client.random(),
                ReclaimReason.CLOSED);
        this.view = new HoldView(client.link(), set);
        this.serving = new Serving(holds, view, handlers, figures, client.time(), rules);
        String prefix = "sessions:" + name + " ";
        this.by = client.self().toString();
        this.closingWait = rules.closingWait();
        this.closers = new Closers(prefix + "claims", client, holds, handlers, figures, rules);
        holds.start();
        List<Duty> duties = List.of(
                new HeartbeatDuty(prefix + "heartbeat", holds, serving, rules, client.time()),
                new WatchDuty(prefix + "watch", serving, rules),
                closers.runner,
                new CloseDuty(prefix + "close", holds, closers, figures, client.random()));
        duties.forEach(duty -> assignments.add(client.duties().add(duty)));
        Assignment closing = assignments.getLast();
        closers.runner.whenFree(closing::wake);
        handlers.whenReleased(() -> closing.wakeIn(grace));
        this.opened = client.opened();
        opened.add(this);
    }

    /**
     * Registers one more client of this instance. The first client makes the instance a holder, by a call to Redis; further
     * ones only count in memory. Waits up to {@code sessions.closing-wait} if an earlier life is still being closed.
     *
     * @throws HoldfastException RETRY if Redis does not answer within two time-outs, or the earlier life is not closed in time;
     *     FULL if Redis is out of memory; MISUSE in idle mode, for an id that is not allowed, or after {@link #close}
     * @throws RuntimeException what {@code onActivate} threw; the session is then released
     */
    public SessionHold acquire(String id) {
        return acquire(id, closingWait);
    }

    /**
     * The same, with a wait of its own for an earlier life that is still being closed.
     *
     * @throws HoldfastException as {@link #acquire(String)}
     */
    public SessionHold acquire(String id, Duration timeout) {
        if (mode == HoldSet.Mode.IDLE) {
            throw HoldfastException.misuse(
                    "sessions '" + holds.set().name() + "' are in idle mode and have no holders", "call touch(id)");
        }
        return serving.acquire(id, timeout);
    }

    /** Idle mode: there was activity, so the session lives for another idle time. Returns its epoch. */
    public long touch(String id) {
        if (mode != HoldSet.Mode.IDLE) {
            throw HoldfastException.misuse(
                    "sessions '" + holds.set().name() + "' are held by instances, not by activity",
                    "call acquire(id), or build them with idle(…)");
        }
        Held held = serving.touch(id);
        figures.acquired(0);
        return held.epoch();
    }

    /** How many instances serve the session now. */
    public int count(String id) {
        return view.holders(id).size();
    }

    /** Which instances serve the session now, as {@code instance#incarnation}. */
    public List<String> holders(String id) {
        return view.holders(id).stream().map(HoldView.Holder::name).toList();
    }

    /** Up to so many sessions in the given state. */
    public List<HoldView.Life> list(HoldView.State state, int limit) {
        return view.list(state, limit);
    }

    /** Closes that failed too often; {@link #retry} gives one its attempts back. */
    public List<HoldView.Life> deadLetters(int limit) {
        return view.list(HoldView.State.DEAD_LETTER, limit);
    }

    /**
     * Gives a dead letter its attempts back.
     *
     * @throws HoldfastException GONE if there is no such letter; RETRY while a newer life of the session is open
     */
    public void retry(String id, long epoch) {
        view.retry(id, epoch);
        assignments.getLast().wake();
    }

    /**
     * Forgets a dead letter: its onClose is not run again.
     *
     * @throws HoldfastException GONE if there is no such letter
     */
    public void discard(String id, long epoch) {
        view.discard(id, epoch, by);
    }

    /**
     * Ends a session that no instance holds, without waiting for its grace.
     *
     * @throws HoldfastException GONE if it is not open; RETRY while an instance holds it
     */
    public void end(String id) {
        end(id, false);
    }

    /** @param force whether to end it also while instances hold it. They are not told. */
    public void end(String id, boolean force) {
        view.end(id, force, by);
        assignments.getLast().wake();
    }

    /** The set as an observer sees it. */
    public HoldView view() {
        return view;
    }

    public SessionFigures figures() {
        return figures;
    }

    public String name() {
        return holds.set().name();
    }

    /** How many sessions this instance serves. */
    public int serving() {
        return serving.size();
    }

    /** How many close handlers of this instance run at the moment. */
    public int closing() {
        return closers.runner.running();
    }

    /**
     * Stops serving: claims nothing more, waits up to 10 s for close handlers that run, releases everything that this instance
     * holds and gives its leases up. If Redis does not answer, that takes two time-outs, and the leases lapse. Idempotent.
     */
    @Override
    public void close() {
        if (!opened.remove(this)) {
            return;
        }
        assignments.getLast().close();
        closers.runner.drain(LONGEST_DRAIN);
        assignments.forEach(Assignment::close);
        if (serving.releaseAll()) {
            holds.leave();
        }
    }
}
