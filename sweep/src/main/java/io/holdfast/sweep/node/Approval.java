package io.holdfast.sweep.node;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.piece.NodeId;

/**
 * An operator's word that one node may trash what it reported. It names exactly what was reported, so it cannot be used
 * for another cycle, another filter, or a larger number.
 */
public record Approval(String operator, NodeId node, long cycle, String digest, long wouldTrash) {

    public Approval {
        if (operator.isBlank() || operator.length() > 128) {
            throw HoldfastException.misuse("an approval by '" + operator + "'", "name the operator, 1 to 128 letters");
        }
    }

    /** Approves what a report says. */
    public static Approval of(String operator, NodeReport report) {
        return new Approval(operator, report.node(), report.cycle(), report.digest(), report.wouldTrash());
    }

    boolean covers(NodeId onNode, RetainFile retain) {
        return node.equals(onNode)
                && cycle == retain.manifest().cycle()
                && digest.equals(retain.digestText())
                && wouldTrash == retain.wouldTrash();
    }
}
