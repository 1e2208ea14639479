package io.holdfast.app.graph;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.AtLeastOne;
import io.holdfast.app.cli.Console;
import io.holdfast.redis.graph.ValueGraph;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Draws a graph. */
@Command(
        name = "dot",
        description = "Draw what hangs on a root, for Graphviz. Where it was cut, the drawing says so.",
        footer = {
            "  holdfast graph dot docs main | dot -Tsvg > docs.svg",
            "  holdfast graph dot docs main --limit 1000 --out docs.dot",
        })
final class DotCommand extends OneGraphCommand {

    @Parameters(index = "1", paramLabel = "ROOT", description = "The root.")
    private String root = "";

    @Option(
            names = "--limit",
            converter = AtLeastOne.class,
            defaultValue = "200",
            paramLabel = "N",
            description = "Values to draw, by default 200.")
    private int limit;

    @Option(names = "--out", paramLabel = "FILE", description = "Write the drawing there instead of printing it.")
    private @Nullable Path out;

    @Override
    Answer run(ValueGraph graph, Console console) throws IOException {
        StringBuilder drawing = new StringBuilder();
        int values = graph.inspect().dot(root, limit, drawing);
        Answer answer = Answer.ok().field("values", values).field("dot", drawing.toString());
        if (out != null) {
            Files.writeString(out, drawing);
            return answer.line(values + " values drawn to " + out);
        }
        return answer.line(drawing.toString().stripTrailing());
    }
}
