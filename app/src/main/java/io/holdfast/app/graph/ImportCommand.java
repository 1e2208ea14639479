package io.holdfast.app.graph;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.PhaseBars;
import io.holdfast.redis.graph.Addressing;
import io.holdfast.redis.graph.ValueGraph;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Puts what a file has. */
@Command(
        name = "import",
        description = {
            "Put the values of an exported file, and let a root name them as the exported root did.",
            "Of a damaged file nothing stays. A graph that does not exist is made.",
        },
        footer = {
            "  holdfast graph import docs restored docs.hfgraph",
            "  holdfast graph import copy main docs.hfgraph --addressing content",
        })
final class ImportCommand extends OneGraphCommand {

    @Parameters(index = "1", paramLabel = "ROOT", description = "The root to set.")
    private String root = "";

    @Parameters(index = "2", paramLabel = "FILE", description = "The file to read.")
    private Path file = Path.of("");

    @Option(
            names = "--addressing",
            paramLabel = "HOW",
            description = "How a new graph makes its ids: time (the default) or content. Another way than an existing"
                    + " graph's is refused.")
    private @Nullable Addressing addressing;

    @Override
    Optional<Addressing> makes() {
        return Optional.of(addressing == null ? Addressing.TIME : addressing);
    }

    @Override
    Optional<Addressing> asked() {
        return Optional.ofNullable(addressing);
    }

    @Override
    void prepare() throws IOException {
        Files.newInputStream(file).close();
    }

    @Override
    Answer run(ValueGraph graph, Console console) throws IOException {
        try (PhaseBars bars = new PhaseBars(console);
                InputStream from = new BufferedInputStream(Files.newInputStream(file), 1 << 16)) {
            int values = graph.importFrom(from, root, bars);
            String target = graph.root(root)
                    .target()
                    .orElseThrow(() -> noRoot(graph, root))
                    .toString();
            return Answer.ok()
                    .line(values + " values imported; root " + root + " names " + target)
                    .field("values", values)
                    .field("root", root)
                    .field("target", target);
        }
    }
}
