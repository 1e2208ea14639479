package io.holdfast.app.graph;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.PhaseBars;
import io.holdfast.app.cli.Table;
import io.holdfast.redis.graph.Finding;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.VerifyReport;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;

/** Compares every count with the holds. */
@Command(
        name = "verify",
        description = {
            "Compare every count with the holds, and look for leaks, lost values and what nothing leads to.",
            "The graph may be in full use meanwhile; what changes while it is looked at is not judged.",
            "Exit code 1 if something is wrong, 4 if there is no verdict since too much changed.",
        },
        footer = "  holdfast graph verify docs")
final class VerifyCommand extends OneGraphCommand {

    @Override
    Answer run(ValueGraph graph, Console console) {
        VerifyReport report;
        try (PhaseBars bars = new PhaseBars(console)) {
            report = graph.inspect().verify(bars);
        }
        Answer answer = RepairCommand.verdict(report);
        RepairCommand.tell(answer, report);
        if (!report.findings().isEmpty()) {
            answer.table("findings", table(report.findings()))
                    .line("see what repair would do: holdfast graph repair " + graph.name());
        } else {
            answer.field("findings", List.of());
        }
        return answer;
    }

    static Table table(List<Finding> findings) {
        Table table = Table.of("kind", "thing", "detail", "action");
        findings.forEach(
                it -> table.row(it.kind(), it.thing(), it.detail(), it.kind().action()));
        return table;
    }

    static String word(Finding.Kind kind) {
        return kind.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
