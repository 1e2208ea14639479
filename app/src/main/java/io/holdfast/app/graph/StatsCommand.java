package io.holdfast.app.graph;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.redis.graph.GraphStatistics;
import io.holdfast.redis.graph.ValueGraph;
import picocli.CommandLine.Command;

/** Says how much there is. */
@Command(
        name = "stats",
        description = {
            "Say how much there is in a graph. Cheap: nothing is walked, memory is the server's estimate.",
            "Exit code 1 if a release was ever refused since counts did not agree: then run verify.",
        },
        footer = "  holdfast graph stats docs")
final class StatsCommand extends OneGraphCommand {

    @Override
    Answer run(ValueGraph graph, Console console) {
        GraphStatistics it = graph.inspect().statistics();
        Answer answer = it.miscounts() == 0 ? Answer.ok() : Answer.finding();
        answer.line("values      " + it.values() + (it.largeValues() == 0 ? "" : ", " + it.largeValues() + " large"))
                .line("edges       " + it.edges())
                .line("roots       " + it.roots())
                .line("leases      " + it.leases())
                .line("doomed      " + it.doomed() + (it.doomed() == 0 ? "" : " in the work list"))
                .line("ledger      " + it.ledgerRecords() + " records")
                .line("memory      "
                        + (it.memoryBytes() < 0 ? "the server does not tell" : it.memoryBytes() + " B, about"));
        if (it.miscounts() > 0) {
            answer.line("miscounts   " + it.miscounts() + ": run 'holdfast graph verify " + graph.name() + "'");
        }
        return answer.field("values", it.values())
                .field("largeValues", it.largeValues())
                .field("edges", it.edges())
                .field("roots", it.roots())
                .field("leases", it.leases())
                .field("doomed", it.doomed())
                .field("ledgerRecords", it.ledgerRecords())
                .field("memoryBytes", it.memoryBytes() < 0 ? null : it.memoryBytes())
                .field("miscounts", it.miscounts());
    }
}
