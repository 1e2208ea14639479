package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.sweep.node.NodeBuilder;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The storage nodes that a command works on; closed with it. */
record OpenNodes(List<StorageNode> all) implements AutoCloseable {

    /** Opens nodes that exist; none is made by a typing error. */
    static OpenNodes of(List<Path> folders) throws IOException {
        OpenNodes nodes = new OpenNodes(new ArrayList<>());
        try {
            for (Path folder : folders) {
                if (!Files.exists(folder)) {
                    throw new HoldfastException(
                            HoldfastException.Category.GONE, "there is no folder " + folder, "check --nodes", null);
                }
                NodeId name = NodeBuilder.nameOf(folder);
                nodes.all.add(StorageNode.at(folder, name.name())
                        .settings(Settings.ofProcess())
                        .open());
            }
            return nodes;
        } catch (IOException | RuntimeException e) {
            nodes.close();
            throw e;
        }
    }

    StorageNode named(String name) {
        return all.stream()
                .filter(node -> node.id().name().equals(name))
                .findFirst()
                .orElseThrow(() -> new HoldfastException(
                        HoldfastException.Category.GONE,
                        all.isEmpty()
                                ? "no nodes are named"
                                : "node " + name + " is none of "
                                        + all.stream().map(StorageNode::id).toList(),
                        "name its folder with --nodes",
                        null));
    }

    /** Refuses an owner that a node has never heard of: a typing error must not look like a success. */
    void refuseUnknown(OwnerId owner) throws IOException {
        for (StorageNode node : all) {
            List<String> known =
                    node.status().owners().stream().map(of -> of.owner().name()).toList();
            if (!known.contains(owner.name())) {
                throw new HoldfastException(
                        HoldfastException.Category.GONE,
                        "node " + node.id() + " has nothing of owner " + owner.name(),
                        known.isEmpty() ? "it knows no owner yet" : "it knows " + String.join(", ", known),
                        null);
            }
        }
    }

    @Override
    public void close() throws IOException {
        for (StorageNode node : all) {
            node.close();
        }
    }
}
