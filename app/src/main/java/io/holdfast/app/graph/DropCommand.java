package io.holdfast.app.graph;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.redis.graph.ValueGraph;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Drops a root. */
@Command(
        name = "drop",
        description = {
            "Drop a root. What only it held is reclaimed, in steps, by any client that runs.",
            "To see first what that is: holdfast graph preview.",
        },
        footer = "  holdfast graph drop docs main")
final class DropCommand extends OneGraphCommand {

    @Parameters(index = "1", paramLabel = "ROOT", description = "The root.")
    private String root = "";

    @Override
    Answer run(ValueGraph graph, Console console) {
        if (!graph.root(root).drop()) {
            throw noRoot(graph, root);
        }
        return Answer.ok().line("root " + root + " is dropped").field("dropped", root);
    }
}
