package io.holdfast.sweep.transfer;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.piece.OwnerId;
import java.util.List;

/**
 * What a worker is told before the first piece: enough to know the memory it needs.
 *
 * @param seed of the filters, fresh each cycle
 * @param nodes in the order in which batches number them
 */
public record SessionStart(SessionKey key, long seed, Tally.Keys keys, List<NodeToBuild> nodes) {

    /** The most nodes of one session: what is told of them at its end must fit into a message. */
    public static final int NODES_MAX = 16_000;

    public SessionStart {
        nodes = List.copyOf(nodes);
        if (nodes.isEmpty() || nodes.size() > NODES_MAX) {
            throw HoldfastException.misuse(
                    "a session with " + nodes.size() + " nodes; one has 1 to " + NODES_MAX,
                    "add workers, or set sweep.manager.nodes-per-cycle");
        }
        if (nodes.stream().map(NodeToBuild::node).distinct().count() != nodes.size()) {
            throw HoldfastException.misuse("a session that names a node twice", "name each node once");
        }
    }

    public OwnerId owner() {
        return key.owner();
    }

    /** What the filters take in memory. */
    public long filterBytes() {
        return nodes.stream().mapToLong(node -> node.geometry().bytes()).sum();
    }
}
