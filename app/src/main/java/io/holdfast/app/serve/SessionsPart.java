package io.holdfast.app.serve;

import io.holdfast.DutyRunner.Assignment;
import io.holdfast.app.wiring.SessionSnapshots;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.hold.HoldSet;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.session.SessionMeters;
import io.holdfast.redis.session.SessionSettings;
import io.holdfast.redis.session.Sessions;
import io.holdfast.redis.session.SessionsBuilder;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Notices instances of one set that died. What is due is closed by the applications that have a handler; the daemon itself
 * closes only sessions that own snapshots in a graph, if it is told so, by releasing these.
 */
final class SessionsPart extends Part {

    private final String set;
    private final Optional<String> graph;
    private final RedisPart redis;
    private final DaemonMeters meters;
    private @Nullable Sessions sessions;
    private @Nullable Assignment cleaning;

    SessionsPart(String set, Optional<String> graph, RedisPart redis, DaemonMeters meters) {
        super("sessions " + set);
        this.set = set;
        this.graph = graph;
        this.redis = redis;
        this.meters = meters;
    }

    @Override
    void start() {
        tryToJoin(redis.client());
    }

    /** A set that nobody has made yet is no failure: it is joined when it is there. */
    private void tryToJoin(Holdfast holdfast) {
        SessionsBuilder builder = holdfast.sessions(set);
        Optional<HoldView> found = builder.look();
        if (found.isEmpty()) {
            return;
        }
        HoldSet stored = found.get().set();
        builder.tending().set(SessionSettings.SHARDS, stored.shards());
        if (stored.mode() == HoldSet.Mode.IDLE) {
            builder.idle(SessionSettings.GRACE.defaultValue());
        }
        Optional<SessionSnapshots> snapshots = graph.map(name -> new SessionSnapshots(holdfast, set, name));
        snapshots.ifPresent(owned -> builder.onClose(owned::release));
        Sessions started = builder.start();
        meters.bind(new SessionMeters(started));
        sessions = started;
        // Only now: what failed to start is started again, and a duty that it had left behind would run beside the next
        // one.
        snapshots.ifPresent(owned -> cleaning = holdfast.duties().add(owned));
    }

    @Override
    String look() {
        Sessions open = sessions;
        if (open == null) {
            tryToJoin(redis.client());
            open = sessions;
        }
        if (open == null) {
            return "there are none yet";
        }
        HoldView.Stats now = open.view().stats();
        return now.live() + " live, " + now.grace() + " in grace, " + now.closing() + " closing, " + now.deadLetters()
                + " dead letters";
    }

    @Override
    void stop() {
        closeQuietly(cleaning);
        closeQuietly(sessions);
    }
}
