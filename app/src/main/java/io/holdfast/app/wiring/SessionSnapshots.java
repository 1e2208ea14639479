package io.holdfast.app.wiring;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ThingId;
import io.holdfast.Time;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.graph.Root;
import io.holdfast.redis.graph.Snapshot;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.session.SessionClaim;
import io.holdfast.redis.session.SessionHold;
import io.holdfast.redis.session.SessionRegained;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Snapshots that belong to a session, not to the instance that took them: they outlive a crash of the instance and the
 * grace, and go when the session is closed.
 *
 * <pre>{@code
 * var snapshots = new SessionSnapshots(holdfast, "readers", "docs");
 * var readers = holdfast.sessions("readers").onClose(snapshots::release).onRegained(snapshots::moveOn).start();
 * try (var hold = readers.acquire(id); var snapshot = snapshots.take(hold, "main")) { … }
 * }</pre>
 *
 * <p>The session's hold is a root of its own, {@code session:SET/EPOCH/ID}. It is set after the session was acquired and
 * dropped before its close is committed, so it neither outlives the session nor goes before it. One thing is left: an instance
 * that stalls in the middle of {@link #take} and sets the root when the session is long closed. As a {@link Duty} this drops
 * such roots: those whose session has not been there for {@link #PATIENCE}. An epoch is never used again, so nobody can
 * miss one; the patience is for a store that was replaced by an earlier state, until instances have asserted their holds.
 */
public final class SessionSnapshots implements Duty {

    /** How long a session must have been gone before what it left behind is dropped. */
    public static final Duration PATIENCE = Duration.ofMinutes(10);

    private static final String KIND = "session:";
    private static final int NAME_BYTES_MAX = 200;
    private static final Duration PAUSE = Duration.ofMinutes(1);

    private final Holdfast holdfast;
    private final String set;
    private final ValueGraph graph;
    private final Time time;
    private final Duration patience;
    private final Map<String, Long> missingSince = new HashMap<>();

    public SessionSnapshots(Holdfast holdfast, String set, String graph) {
        this(holdfast, set, graph, Time.system(), PATIENCE);
    }

    SessionSnapshots(Holdfast holdfast, String set, String graph, Time time, Duration patience) {
        this.holdfast = holdfast;
        this.set = set;
        this.graph = holdfast.graph(graph);
        this.time = time;
        this.patience = patience;
    }

    /**
     * Lets the session own what a root names now, in place of what it owned before; answers a snapshot to read it by, which
     * is the caller's to close.
     */
    public Snapshot take(SessionHold hold, String root) {
        long epoch = hold.epoch();
        Root owned = root(hold.id(), epoch);
        check(hold, epoch);
        Snapshot snapshot = graph.snapshot(root);
        try {
            owned.set(snapshot.target());
            check(hold, epoch);
            return snapshot;
        } catch (RuntimeException e) {
            snapshot.close();
            if (!isOf(hold, epoch)) {
                owned.drop();
            }
            throw e;
        }
    }

    /** What the session owns, for any instance that serves it. GONE if it owns nothing. */
    public Snapshot open(SessionHold hold) {
        return graph.snapshot(root(hold.id(), hold.epoch()).name());
    }

    /** The session is being closed: its snapshot goes. May be repeated. */
    public void release(SessionClaim claim) {
        root(claim.id(), claim.epoch()).drop();
    }

    /** Sessions that were lost are held again, perhaps in another life: their snapshots go with them if they are still there. */
    public void moveOn(List<SessionRegained> regained) {
        regained.stream().filter(one -> !one.unbroken()).forEach(this::moveOn);
    }

    private void moveOn(SessionRegained regained) {
        Root before = root(regained.id(), regained.lostEpoch());
        Optional<ValueId> target = before.target();
        if (target.isPresent()) {
            root(regained.id(), regained.epoch()).set(target.get());
            before.drop();
        }
    }

    private static void check(SessionHold hold, long epoch) {
        if (!isOf(hold, epoch)) {
            throw new HoldfastException(
                    Category.LAPSED,
                    "session '" + hold.id() + "' was lost while its snapshot was taken",
                    "acquire the session again and repeat the work under it",
                    null);
        }
    }

    private static boolean isOf(SessionHold hold, long epoch) {
        return hold.isValid() && hold.epoch() == epoch;
    }

    private String prefix() {
        return KIND + set + "/";
    }

    private Root root(String id, long epoch) {
        String name = prefix() + epoch + "/" + id;
        if (name.getBytes(UTF_8).length > NAME_BYTES_MAX) {
            throw HoldfastException.misuse(
                    "session id '" + id + "' is too long to own a snapshot",
                    "use ids of at most " + (NAME_BYTES_MAX - prefix().length() - 17) + " bytes");
        }
        return graph.root(name);
    }

    @Override
    public String name() {
        return "sessions:" + set + " snapshots in graph " + graph.name();
    }

    /** Drops what sessions left behind that are long closed. */
    @Override
    public Step step() {
        Optional<HoldView> view = HoldView.find(holdfast.link(), ThingId.Kind.SESSION, set);
        if (view.isEmpty()) {
            return Step.restFor(0, PAUSE); // no set, no evidence
        }
        long now = time.nanoTime();
        long dropped = 0;
        Map<String, Long> missing = new HashMap<>();
        for (String name : graph.roots().keySet()) {
            if (name.startsWith(prefix()) && !isThere(view.get(), name)) {
                long since = missingSince.getOrDefault(name, now);
                if (now - since >= patience.toNanos()) {
                    graph.root(name).drop();
                    dropped++;
                } else {
                    missing.put(name, since);
                }
            }
        }
        missingSince.clear();
        missingSince.putAll(missing);
        return Step.restFor(dropped, PAUSE);
    }

    private static boolean isThere(HoldView view, String name) {
        String[] parts = name.split("/", 3);
        return parts.length < 3
                || view.show(parts[2]).stream()
                        .anyMatch(life -> Long.toString(life.epoch()).equals(parts[1]));
    }

    /** The roots of a graph that belonged to sessions and are still there though these are long closed. */
    public static List<String> leftBehind(Holdfast holdfast, String graph) {
        ValueGraph values = holdfast.graph(graph);
        List<String> left = new ArrayList<>();
        for (String name : values.roots().keySet()) {
            if (name.startsWith(KIND) && name.indexOf('/') > 0) {
                String set = name.substring(KIND.length(), name.indexOf('/'));
                Optional<HoldView> view = HoldView.find(holdfast.link(), ThingId.Kind.SESSION, set);
                long micros = Long.parseLong(values.root(name).read().version());
                Instant since = Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
                boolean old = since.isBefore(Instant.now().minus(PATIENCE.multipliedBy(2)));
                if (view.isPresent() && old && !isThere(view.get(), name)) {
                    left.add("root " + name + " belongs to a session that is gone, since " + since);
                }
            }
        }
        return left;
    }
}
