package io.holdfast.app.graph;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.PhaseBars;
import io.holdfast.redis.graph.Finding;
import io.holdfast.redis.graph.RepairReport;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.VerifyReport;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Mends what verify finds. */
@Command(
        name = "repair",
        description = {
            "Verify, and mend what can be mended without a doubt. Without --apply it only says what it would do.",
            "Nothing that changed after verify saw it is touched. Every fix is in the ledger.",
            "Exit code 1 if something is left, or would be mended.",
        },
        footer = {
            "  holdfast graph repair docs               # a dry run",
            "  holdfast graph repair docs --apply",
        })
final class RepairCommand extends OneGraphCommand {

    @Option(names = "--apply", description = "Mend it, rather than only say so.")
    private boolean apply;

    @Override
    Answer run(ValueGraph graph, Console console) {
        RepairReport report;
        try (PhaseBars bars = new PhaseBars(console)) {
            report = graph.inspect().repair(apply, bars);
        }
        boolean clean = apply
                && report.left().isEmpty()
                && report.changed().isEmpty()
                && !report.verify().isVoid();
        Answer answer = clean ? Answer.ok() : verdict(report.verify());
        tell(answer, report.verify());
        list(answer, apply ? "repaired" : "wouldRepair", apply ? "mended:" : "would be mended:", report.repaired());
        list(answer, "left", "left to you:", report.left());
        list(answer, "changed", "changed meanwhile, run again:", report.changed());
        if (!apply && !report.repaired().isEmpty()) {
            answer.line("nothing was written; to mend it: holdfast graph repair " + graph.name() + " --apply");
        }
        return answer.field("applied", apply);
    }

    private static void list(Answer answer, String field, String title, List<Finding> findings) {
        if (findings.isEmpty()) {
            answer.field(field, List.of());
        } else {
            answer.line(title).table(field, VerifyCommand.table(findings));
        }
    }

    static Answer verdict(VerifyReport report) {
        if (report.isVoid()) {
            return Answer.failed(new HoldfastException(Category.RETRY, "no verdict: " + report.voided()));
        }
        return report.isSound() ? Answer.ok() : Answer.finding();
    }

    static void tell(Answer answer, VerifyReport report) {
        answer.line(report.values() + " values and " + report.edges() + " edges looked at in "
                + report.took().toMillis() + " ms");
        if (report.unjudged() > 0) {
            answer.line(report.unjudged() + " changed meanwhile and were not judged");
        }
        Map<String, Long> counts = new TreeMap<>();
        report.counts().forEach((kind, count) -> counts.put(VerifyCommand.word(kind), count));
        answer.line(
                report.isVoid()
                        ? "NO VERDICT: " + report.voided()
                        : report.isSound() ? "all is well" : report.total() + " findings: " + counts);
        answer.field("values", report.values())
                .field("edges", report.edges())
                .field("unjudged", report.unjudged())
                .field("void", report.isVoid() ? report.voided() : null)
                .field("sound", report.isSound())
                .field("took", report.took())
                .field("counts", counts);
    }
}
