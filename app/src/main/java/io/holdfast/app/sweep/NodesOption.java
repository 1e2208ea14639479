package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;

/** {@code --nodes}, the same for all commands that look at storage nodes. */
public final class NodesOption {

    @Option(
            names = "--nodes",
            paramLabel = "FOLDER",
            split = ",",
            description = "The folders of the storage nodes, separated by commas.")
    private List<Path> nodes = new ArrayList<>();

    OpenNodes open() throws IOException {
        if (nodes.isEmpty()) {
            throw HoldfastException.misuse("no nodes are named", "give --nodes FOLDER,FOLDER, or --fleet FILE");
        }
        return OpenNodes.of(nodes);
    }
}
