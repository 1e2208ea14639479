package io.holdfast.sweep.manager;

import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a cycle of a fleet did.
 *
 * @param cutoff what is newer was not judged
 * @param rows rows of the catalogue that went into filters, counted once
 * @param attempts how many attempts it took
 * @param note one line about the whole; empty if there is nothing to say
 * @param took by part: count, scan, compare, deliver, examine, trash
 */
public record CycleReport(
        OwnerId owner,
        long cycle,
        Instant cutoff,
        long rows,
        int attempts,
        List<OfNode> nodes,
        String note,
        Map<String, Duration> took) {

    /**
     * One node.
     *
     * @param state where it ended, in one word
     * @param progress what the node said last
     */
    public record OfNode(
            NodeId node, String state, int attempt, long pieces, Optional<NodeProgress> progress, String detail) {}

    public CycleReport {
        nodes = List.copyOf(nodes);
        took = Map.copyOf(took);
    }

    public long examined() {
        return sum(NodeProgress::examined);
    }

    public long wouldTrash() {
        return sum(NodeProgress::wouldTrash);
    }

    public long trashed() {
        return sum(NodeProgress::trashed);
    }

    private long sum(java.util.function.ToLongFunction<NodeProgress> of) {
        return nodes.stream()
                .flatMap(node -> node.progress().stream())
                .mapToLong(of)
                .sum();
    }

    public List<OfNode> in(String state) {
        return nodes.stream().filter(node -> node.state().equals(state)).toList();
    }
}
