package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.sweep.node.NodeBuilder;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import java.io.IOException;
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
                        "node " + name + " is none of "
                                + all.stream().map(StorageNode::id).toList(),
                        "name its folder with --nodes",
                        null));
    }

    @Override
    public void close() throws IOException {
        for (StorageNode node : all) {
            node.close();
        }
    }
}
