package io.holdfast.sweep.node;

import io.holdfast.sweep.piece.NodeId;
import java.time.Instant;
import java.util.List;

/**
 * How a node stands with one cycle of one owner.
 *
 * @param lastCycle the highest cycle that it took of the owner
 * @param digest of the filter it examined with
 * @param verdict empty until it has examined
 * @param clock the node's own, so that a manager sees when it is off
 */
public record NodeProgress(
        NodeId node,
        int idBytes,
        long lastCycle,
        State state,
        long examined,
        String digest,
        String verdict,
        long wouldTrash,
        long wouldTrashBytes,
        long trashed,
        long trashedBytes,
        long live,
        long young,
        long failed,
        String detail,
        Instant clock,
        List<NodeStatus.Alarm> alarms) {

    /** The life of a cycle on a node. */
    public enum State {
        /** It has not been told of the cycle, or has forgotten it in a restart. */
        UNKNOWN,
        EXAMINING,
        /** It waits for a release or an approval. */
        EXAMINED,
        TRASHING,
        DONE,
        FAILED
    }

    public boolean isReady() {
        return state == State.EXAMINED && verdict.equals(Verdict.READY.name());
    }
}
