package io.holdfast.app.sweep;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Table;
import io.holdfast.sweep.SweepReport;
import io.holdfast.sweep.node.NodeReport;
import io.holdfast.sweep.node.SpareReason;
import io.holdfast.sweep.node.Verdict;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** A cycle's report as an answer: one line a node, then what a person should do. */
final class CycleAnswer {

    private CycleAnswer() {}

    static Answer of(SweepReport report, boolean carriedOut) {
        boolean finding = !report.failures().isEmpty()
                || !report.note().isEmpty()
                || report.nodes().stream().anyMatch(node -> node.verdict() == Verdict.TOO_FEW_HITS)
                || (carriedOut && report.nodes().stream().allMatch(CycleAnswer::isHeldBack));
        Answer answer = finding ? Answer.finding() : Answer.ok();
        answer.line("cycle " + report.cycle() + " of " + report.owner() + ": " + report.rows()
                + " live pieces in the catalogue, " + report.examined() + " examined, "
                + (carriedOut ? report.trashed() + " trashed" : report.wouldTrash() + " would be trashed"));
        answer.field("owner", report.owner().name())
                .field("cycle", report.cycle())
                .field("cutoff", report.cutoff())
                .field("rows", report.rows())
                .field("rowsElsewhere", report.rowsElsewhere())
                .field("examined", report.examined())
                .field("wouldTrash", report.wouldTrash())
                .field("trashed", report.trashed());
        answer.table("nodes", table(report));
        report.failures().forEach((node, why) -> answer.line("node " + node + " took no part: " + why));
        Map<String, String> failures = new TreeMap<>();
        report.failures().forEach((node, why) -> failures.put(node.name(), why));
        answer.field("failures", failures);
        if (!report.note().isEmpty()) {
            answer.line(report.note());
        }
        String waiting = report.nodes().stream()
                .filter(node -> node.verdict().approvable() && node.trashed() == 0)
                .map(node -> " --node " + node.node() + "=" + node.wouldTrash())
                .collect(Collectors.joining());
        if (!waiting.isEmpty()) {
            answer.line("To let the waiting nodes go on: holdfast sweep approve " + report.cycle() + " --owner "
                    + report.owner() + " --operator YOU" + waiting + " --nodes FOLDERS");
        }
        return answer.field("note", report.note());
    }

    private static boolean isHeldBack(NodeReport node) {
        return node.verdict() != Verdict.READY && node.trashed() == 0;
    }

    private static Table table(SweepReport report) {
        Table table = Table.of(
                "node",
                "verdict",
                "examined",
                "live",
                "young",
                "unknown",
                "wouldTrash",
                "trashed",
                "bytes",
                "failed",
                "detail");
        for (NodeReport node : report.nodes()) {
            long unknown = node.spared(SpareReason.UNKNOWN_KIND) + node.spared(SpareReason.AGE_UNKNOWN);
            table.row(
                    node.node().name(),
                    node.verdict(),
                    node.examined(),
                    node.spared(SpareReason.LIVE),
                    node.spared(SpareReason.YOUNG) + node.spared(SpareReason.RENEWED),
                    unknown,
                    node.wouldTrash(),
                    node.trashed(),
                    node.trashed() > 0 ? node.trashedBytes() : node.wouldTrashBytes(),
                    node.failed(),
                    node.detail());
        }
        return table;
    }
}
