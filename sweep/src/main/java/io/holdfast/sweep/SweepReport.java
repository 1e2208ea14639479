package io.holdfast.sweep;

import io.holdfast.sweep.node.NodeReport;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * What a cycle found or did.
 *
 * @param cutoff what is newer was not judged
 * @param rows rows of the catalogue that went into filters
 * @param rowsElsewhere rows of nodes that are not part of this sweep
 * @param nodes one report a node, in the order of their names
 * @param failures nodes that could not take part, and why; the others went on
 * @param note one line about the whole; empty if there is nothing to say
 * @param took how long each part took
 */
public record SweepReport(
        OwnerId owner,
        long cycle,
        Instant cutoff,
        long rows,
        long rowsElsewhere,
        List<NodeReport> nodes,
        Map<NodeId, String> failures,
        String note,
        Map<String, Duration> took) {

    public SweepReport {
        nodes = List.copyOf(nodes);
        failures = Map.copyOf(failures);
        took = Map.copyOf(took);
    }

    public long examined() {
        return nodes.stream().mapToLong(NodeReport::examined).sum();
    }

    public long wouldTrash() {
        return nodes.stream().mapToLong(NodeReport::wouldTrash).sum();
    }

    public long trashed() {
        return nodes.stream().mapToLong(NodeReport::trashed).sum();
    }
}
