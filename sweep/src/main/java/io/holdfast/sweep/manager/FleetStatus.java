package io.holdfast.sweep.manager;

import io.holdfast.sweep.piece.OwnerId;
import java.util.List;

/**
 * How a manager stands, for a person who watches.
 *
 * @param nodesInAll more than there are lines for, if the fleet is very large
 */
public record FleetStatus(
        OwnerId owner,
        long cycle,
        String phase,
        long rows,
        long rowsExpected,
        List<OfWorker> workers,
        List<OfNode> nodes,
        int nodesInAll,
        List<String> alarms) {

    /** A worker, the range of node ids that it builds for, and how far it is. */
    public record OfWorker(
            String address,
            String state,
            String firstNode,
            String lastNode,
            int nodes,
            long piecesExpected,
            long piecesSent,
            long piecesAcknowledged) {}

    /** A node, and how far it is. */
    public record OfNode(
            String node, String state, int attempt, long pieces, long wouldTrash, long trashed, String detail) {}
}
