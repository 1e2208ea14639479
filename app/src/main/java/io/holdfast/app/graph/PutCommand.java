package io.holdfast.app.graph;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.redis.graph.Addressing;
import io.holdfast.redis.graph.GraphWriter;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Puts one value, and lets a root name it. */
@Command(
        name = "put",
        description = {
            "Put the content of a file as a value, and let a root name it, so that it stays.",
            "A graph that does not exist is made.",
        },
        footer = {
            "  holdfast graph put docs page.html --root main",
            "  holdfast graph put docs index.html --root main --child 01a1e10f3d49f66afc24422a310de14b",
            "  holdfast graph put docs - --root main      # from standard input",
        })
final class PutCommand extends OneGraphCommand {

    @Parameters(index = "1", paramLabel = "FILE", description = "The file; - is standard input.")
    private Path file = Path.of("-");

    @Option(names = "--root", required = true, paramLabel = "ROOT", description = "The root that shall name the value.")
    private String root = "";

    @Option(names = "--child", paramLabel = "ID", description = "A value that is to be its child; may be repeated.")
    private List<String> children = new ArrayList<>();

    @Option(
            names = "--addressing",
            paramLabel = "HOW",
            description = "How a new graph makes its ids: time (the default) or content. Another way than an existing"
                    + " graph's is refused.")
    private @Nullable Addressing addressing;

    private byte[] value = {};
    private List<ValueId> ids = List.of();

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
        if (Files.isDirectory(file)) {
            throw new FileSystemException(file.toString(), null, "Is a directory");
        }
        value = file.toString().equals("-") ? System.in.readAllBytes() : Files.readAllBytes(file);
        ids = children.stream().map(ValueId::parse).toList();
    }

    @Override
    Answer run(ValueGraph graph, Console console) {
        try (GraphWriter writer = graph.writer()) {
            ValueId id = writer.put(value, ids);
            graph.root(root).set(id);
            return Answer.ok()
                    .line(id.toString())
                    .field("id", id.toString())
                    .field("root", root)
                    .field("bytes", value.length);
        }
    }
}
