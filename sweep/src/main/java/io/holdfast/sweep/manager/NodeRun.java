package io.holdfast.sweep.manager;

import io.holdfast.sweep.cycle.Heard;
import io.holdfast.sweep.cycle.Marked;
import io.holdfast.sweep.cycle.Marker;
import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.retain.Built;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * One node on its way through a cycle: a state machine, which one thread at a time moves on.
 *
 * <pre>
 *   from       to          when                                                          must happen within
 *   PENDING    AGREED      manager and builders agree on its pieces                      sweep.manager.attempts
 *   AGREED     EXAMINING   a builder has delivered its filter                            node-deadline, counted from the
 *   AGREED     PENDING     its builders are lost, or one says that it refuses: others       first AGREED of the attempt
 *                          build it again in the next attempt
 *   EXAMINING  AGREED      it forgot its filter in a restart, at most 5 times            the same
 *   EXAMINING  EXAMINED    it says what it would trash                                   the same
 *   EXAMINING  RELEASED    an operator approved it meanwhile                             the same
 *   EXAMINED   WAITING     its verdict or the fleet's limit needs an operator            none: it waits for other nodes
 *   EXAMINED   RELEASED    it was told to trash                                          node-deadline, counted from the
 *   RELEASED   EXAMINED    it never got the order, which is sent again                     first order
 *   RELEASED   DONE        it has trashed                                                the same
 *   any        FAILED      a call failed for good, or with RETRY for node-patience, or a deadline has passed
 * </pre>
 *
 * WAITING, DONE and FAILED are ends.
 */
final class NodeRun {

    /** What bounds the stay in a state, in order; a deadline goes on through states that share it. */
    enum Bound {
        ATTEMPTS,
        EXAMINE,
        TRASH,
        NONE
    }

    /** Where the node is. */
    enum State {
        /** Its filter is to be built. */
        PENDING(Bound.ATTEMPTS),
        /** Manager and worker agree on its pieces. */
        AGREED(Bound.EXAMINE),
        /** It has its filter and examines its pieces. */
        EXAMINING(Bound.EXAMINE),
        /** It has examined, and waits for the manager. */
        EXAMINED(Bound.TRASH),
        /** It trashes what it found. */
        RELEASED(Bound.TRASH),
        DONE(Bound.NONE),
        /** It waits for an operator. */
        WAITING(Bound.NONE),
        /** Nothing more happens to it in this cycle. */
        FAILED(Bound.NONE);

        private final Bound bound;

        State(Bound bound) {
            this.bound = bound;
        }

        private Set<State> next() {
            return switch (this) {
                case PENDING -> Set.of(AGREED);
                case AGREED -> Set.of(EXAMINING, PENDING);
                case EXAMINING -> Set.of(AGREED, EXAMINED, RELEASED);
                case EXAMINED -> Set.of(WAITING, RELEASED);
                case RELEASED -> Set.of(EXAMINED, DONE);
                case DONE, WAITING, FAILED -> Set.of();
            };
        }

        boolean isOver() {
            return bound == Bound.NONE;
        }
    }

    final NodePort port;
    final int idBytes;
    final long pieces;
    final FilterGeometry geometry;
    /** Who answers for its oldest trash: an independent filter is to confirm it. */
    final Built trashBuilt;

    private volatile State state = State.PENDING;
    /** The furthest bound so far: an order that has to be sent again does not begin it anew. */
    private Bound bound = Bound.ATTEMPTS;

    private volatile long boundSinceNanos;
    volatile int attempt;
    volatile String detail = "";
    volatile @Nullable NodeProgress progress;
    /** Its filter, once it is built. */
    volatile @Nullable Marked filter;

    volatile long lastHeardNanos;
    /** Who says that it refuses their filters, by identity. */
    final Set<String> refused = ConcurrentHashMap.newKeySet();

    volatile long lastExamined = -1;
    volatile int deliveries;

    NodeRun(NodePort port, int idBytes, long pieces, FilterGeometry geometry, Built trashBuilt, long nowNanos) {
        this.port = port;
        this.trashBuilt = trashBuilt;
        this.idBytes = idBytes;
        this.pieces = pieces;
        this.geometry = geometry;
        this.lastHeardNanos = nowNanos;
        this.boundSinceNanos = nowNanos;
    }

    NodeId id() {
        return port.id();
    }

    State state() {
        return state;
    }

    boolean is(State one) {
        return state == one;
    }

    void to(State next, long nowNanos) {
        State from = state;
        if (!from.next().contains(next)) {
            throw new IllegalStateException("node " + id() + " from " + from + " to " + next);
        }
        if (next == State.PENDING || next.bound.compareTo(bound) > 0) {
            bound = next.bound;
            boundSinceNanos = nowNanos;
        }
        state = next;
    }

    Marker.Wish wish() {
        return new Marker.Wish(id(), idBytes, pieces, geometry, trashBuilt, Set.copyOf(refused));
    }

    /** What became of its wish for a filter. */
    void marked(Marker.Outcome outcome, int inAttempt, long nowNanos) {
        attempt = inAttempt;
        Marked built = outcome.filters().get(id());
        if (built != null) {
            filter = built;
            detail = "";
            to(State.AGREED, nowNanos);
        } else if (outcome.hopeless().containsKey(id())) {
            String why = outcome.hopeless().get(id());
            fail(detail.isEmpty() ? "" + why : detail + "; " + why);
        } else {
            detail = outcome.missing().getOrDefault(id(), "no filter was built for it");
        }
    }

    /** The manager turns to it again: how long it was left alone, or was ready, does not count against it. */
    void turnedTo(long nowNanos) {
        lastHeardNanos = nowNanos;
        if (state == State.EXAMINED) {
            boundSinceNanos = nowNanos;
        }
    }

    long boundSinceNanos() {
        return boundSinceNanos;
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // one thread at a time works on a node
    void delivered() {
        deliveries++;
    }

    /** What a failure says may be a peer's words. */
    void fail(String why) {
        if (!state.isOver()) {
            detail = Heard.text(why);
            state = State.FAILED;
        }
    }
}
