package io.holdfast.sweep.manager;

import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.transfer.NodeBuilt;
import io.holdfast.sweep.transfer.SessionKey;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One node on its way through a cycle. Changed by one thread at a time; those that watch read what they see. */
final class NodeRun {

    /** Where the node is. */
    enum State {
        /** Its filter is to be built. */
        PENDING,
        /** Manager and worker agree on its pieces. */
        AGREED,
        /** It has its filter and examines its pieces. */
        EXAMINING,
        EXAMINED,
        /** It trashes what it found. */
        RELEASED,
        DONE,
        /** It waits for an operator. */
        WAITING,
        /** Nothing more happens to it in this cycle. */
        FAILED
    }

    final NodePort port;
    final int idBytes;
    final long lastCycle;
    final long pieces;
    final FilterGeometry geometry;
    final WitnessSample sample;

    volatile State state = State.PENDING;
    volatile int attempt;
    volatile String detail = "";
    volatile @Nullable NodeProgress progress;
    volatile @Nullable NodeBuilt built;
    volatile @Nullable SessionKey session;
    volatile List<WorkerPort> builders = List.of();
    volatile long lastHeardNanos;
    volatile long lastExamined = -1;
    volatile int deliveries;

    NodeRun(
            NodePort port,
            int idBytes,
            long lastCycle,
            long pieces,
            FilterGeometry geometry,
            WitnessSample sample,
            long nowNanos) {
        this.port = port;
        this.idBytes = idBytes;
        this.lastCycle = lastCycle;
        this.pieces = pieces;
        this.geometry = geometry;
        this.sample = sample;
        this.lastHeardNanos = nowNanos;
    }

    NodeId id() {
        return port.id();
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // one thread at a time works on a node
    void delivered() {
        deliveries++;
    }

    void fail(String why) {
        detail = why;
        state = State.FAILED;
    }

    /** The node will not be part of this cycle any more, or is as far as it gets. */
    boolean isOver() {
        return state == State.FAILED || state == State.DONE || state == State.WAITING;
    }
}
