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
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.link.Client;
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

    private final Holds holds;
    private final HoldView view;
    private final Serving serving;
    private final Closers closers;
    private final SessionFigures figures = new SessionFigures();
    private final List<Assignment> assignments = new ArrayList<>();
    private final HoldSet.Mode mode;

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
        this.holds = new Holds(caller, set, holdRules, client.self().reborn(), client.time(), ReclaimReason.CLOSED);
        this.view = new HoldView(client.link(), set);
        this.serving = new Serving(holds, view, handlers, figures, client.time(), rules);
        String prefix = "sessions:" + name + " ";
        this.closers = new Closers(prefix + "claims", client, holds, handlers, figures, rules);
        holds.start();
        List<Duty> duties = List.of(
                new HeartbeatDuty(prefix + "heartbeat", holds, serving, rules, client.time()),
                new WatchDuty(prefix + "watch", serving, rules),
                closers,
                new CloseDuty(prefix + "close", holds, closers, figures, client.time()));
        duties.forEach(duty -> assignments.add(client.duties().add(duty)));
        Assignment closing = assignments.getLast();
        closers.whenFree(closing::wake);
        handlers.whenReleased(() -> closing.wakeIn(grace));
    }

    /** One more client of this instance is served by the session; blocks until the store knows. */
    public SessionHold acquire(String id) {
        if (mode == HoldSet.Mode.IDLE) {
            throw HoldfastException.misuse(
                    "sessions '" + holds.set().name() + "' are in idle mode and have no holders", "call touch(id)");
        }
        return serving.acquire(id);
    }

    /** Idle mode: there was activity, so the session lives for another idle time. Answers its epoch. */
    public long touch(String id) {
        if (mode != HoldSet.Mode.IDLE) {
            throw HoldfastException.misuse(
                    "sessions '" + holds.set().name() + "' are held by instances, not by activity",
                    "call acquire(id), or build them with idle(…)");
        }
        Held held = holds.touch(id);
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

    public void retry(String id, long epoch) {
        view.retry(id, epoch);
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
        return closers.runningCount();
    }

    /**
     * Stops serving: releases everything that this instance holds and gives its lease up. Closing the Holdfast client
     * alone releases nothing: the leases lapse.
     */
    @Override
    public void close() {
        assignments.forEach(Assignment::close);
        serving.releaseAll();
        holds.leave();
    }
}
