package io.holdfast.app.sweep;

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
            required = true,
            description = "The folders of the storage nodes, separated by commas.")
    private List<Path> nodes = new ArrayList<>();

    OpenNodes open() throws IOException {
        return OpenNodes.of(nodes);
    }
}
