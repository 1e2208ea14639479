package io.holdfast.app.graph;

import io.holdfast.HoldfastException;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.redis.graph.GraphStatistics;
import io.holdfast.redis.graph.ValueGraph;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Ends a graph. */
@Command(
        name = "destroy",
        description = {
            "End a graph with all that is in it, whoever holds it. There is no way back, other than import.",
            "Takes the server a moment; late calls are answered GONE; the ledger stays.",
        },
        footer = "  holdfast graph destroy docs --yes")
final class DestroyCommand extends OneGraphCommand {

    @Option(names = "--yes", description = "Yes, destroy it.")
    private boolean yes;

    @Override
    Answer run(ValueGraph graph, Console console) {
        GraphStatistics it = graph.inspect().statistics();
        if (!yes) {
            throw HoldfastException.misuse(
                    "this would destroy graph " + graph.name() + " with " + it.values() + " values and " + it.roots()
                            + " roots",
                    "if that is meant, add --yes");
        }
        graph.destroy();
        return Answer.ok()
                .line("graph " + graph.name() + " is destroyed: " + it.values() + " values, " + it.roots() + " roots")
                .field("destroyed", graph.name())
                .field("values", it.values())
                .field("roots", it.roots());
    }
}
