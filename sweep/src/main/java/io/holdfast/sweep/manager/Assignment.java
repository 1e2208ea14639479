package io.holdfast.sweep.manager;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.piece.NodeId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Which worker builds for which nodes: the node ids in order, cut into as many ranges as there are workers, so that each
 * range has about the same number of pieces. With two builders, each range also goes to the next worker.
 */
final class Assignment {

    /** A node costs something even without a piece. */
    private static final long NODE_WEIGHT = 1000;

    /** The nodes of one worker, in order: the ranges it builds for. */
    record Share(int worker, List<NodeId> nodes, long pieces) {}

    private Assignment() {}

    /** The shares; a worker for whom nothing is left has none. */
    static List<Share> of(SortedMap<NodeId, Long> counts, int workers, int builders) {
        if (builders > workers) {
            throw HoldfastException.misuse(
                    builders + " builders and " + workers + " workers", "start more workers, or set fewer builders");
        }
        List<List<NodeId>> ranges = ranges(counts, workers);
        List<Share> shares = new ArrayList<>();
        for (int worker = 0; worker < workers; worker++) {
            List<NodeId> nodes = new ArrayList<>();
            for (int builder = 0; builder < builders; builder++) {
                nodes.addAll(ranges.get((worker + builder) % workers));
            }
            if (!nodes.isEmpty()) {
                nodes.sort(null);
                long pieces = nodes.stream()
                        .mapToLong(node -> counts.getOrDefault(node, 0L))
                        .sum();
                shares.add(new Share(worker, nodes, pieces));
            }
        }
        return shares;
    }

    private static List<List<NodeId>> ranges(SortedMap<NodeId, Long> counts, int workers) {
        TreeMap<NodeId, Long> weights = new TreeMap<>();
        counts.forEach((node, count) -> weights.put(node, count + NODE_WEIGHT));
        long left = weights.values().stream().mapToLong(Long::longValue).sum();
        List<List<NodeId>> ranges = new ArrayList<>();
        for (int i = 0; i < workers; i++) {
            ranges.add(new ArrayList<>());
        }
        int range = 0;
        long inRange = 0;
        for (Map.Entry<NodeId, Long> node : weights.entrySet()) {
            long due = left / (workers - range);
            boolean full = inRange > 0 && inRange + node.getValue() / 2 > due;
            if (full && range < workers - 1) {
                left -= inRange;
                inRange = 0;
                range++;
            }
            ranges.get(range).add(node.getKey());
            inRange += node.getValue();
        }
        return ranges;
    }
}
