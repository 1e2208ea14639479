package io.holdfast.sweep.node;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.piece.NodeId;
import java.util.Arrays;
import java.util.List;

/**
 * How a node stands with one cycle of one owner.
 *
 * @param lastCycle the highest cycle that it took of the owner
 * @param digest of the filter it examined with
 * @param verdict empty until it has examined
 * @param trashBuilder who built the filter that trashed its oldest trash: another one is to build the next
 * @param suspects pieces in its trash that the filter of this cycle answers to
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
        List<NodeStatus.Alarm> alarms,
        String trashBuilder,
        List<Suspect> suspects) {

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

    public NodeProgress {
        alarms = List.copyOf(alarms);
        suspects = List.copyOf(suspects);
        long[] numbers = {
            lastCycle, examined, wouldTrash, wouldTrashBytes, trashed, trashedBytes, live, young, failed,
        };
        boolean sound = idBytes >= 1 && idBytes <= Fingerprint.ID_BYTES_MAX;
        if (!sound || Arrays.stream(numbers).anyMatch(number -> number < 0)) {
            throw HoldfastException.misuse(
                    "node " + node + " says that it keeps ids of " + idBytes + " bytes, and counts "
                            + Arrays.toString(numbers),
                    "see which software answers there");
        }
    }

    public boolean isReady() {
        return state == State.EXAMINED && verdict.equals(Verdict.READY.name());
    }
}
