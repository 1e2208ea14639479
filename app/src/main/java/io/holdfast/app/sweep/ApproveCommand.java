package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Table;
import io.holdfast.sweep.node.Approval;
import io.holdfast.sweep.node.NodeReport;
import io.holdfast.sweep.node.NodeStatus;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.OwnerId;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Carries out a planned cycle on nodes that wait for an operator. */
@Command(
        name = "approve",
        description = {
            "Let nodes go on that wait for an operator: first cycle, other catalogue, empty filter, brake.",
            "Each node is named with the number that it reported; another number is refused.",
        },
        footer = {
            "  holdfast sweep approve 7 --owner photos --operator ann --node n1=120 --nodes /srv/n1",
        })
public final class ApproveCommand extends CliCommand {

    @Parameters(paramLabel = "CYCLE", description = "The planned cycle.")
    private long cycle;

    @Option(names = "--owner", paramLabel = "NAME", required = true, description = "Whose pieces.")
    private String owner = "";

    @Option(names = "--operator", paramLabel = "NAME", required = true, description = "Who approves; is recorded.")
    private String operator = "";

    @Option(
            names = "--node",
            paramLabel = "NAME=COUNT",
            required = true,
            description = "A node, and how many pieces it said it would trash. May be repeated.")
    private Map<String, Long> approved = new LinkedHashMap<>();

    @Mixin
    private NodesOption nodes = new NodesOption();

    @Override
    protected Answer run(Console console) throws Exception {
        OwnerId of = new OwnerId(owner);
        Table table = Table.of("node", "trashed", "bytes", "detail");
        boolean refused = false;
        try (OpenNodes open = nodes.open()) {
            for (Map.Entry<String, Long> entry : approved.entrySet()) {
                StorageNode node = open.named(entry.getKey());
                Approval approval = new Approval(operator, node.id(), cycle, digest(node, of), entry.getValue());
                NodeReport report = node.trash(of, cycle, Optional.of(approval), StorageNode.Progress.NONE);
                refused |= report.trashed() == 0 && report.wouldTrash() > 0;
                table.row(node.id().name(), report.trashed(), report.trashedBytes(), report.detail());
            }
        }
        return (refused ? Answer.finding() : Answer.ok()).table("nodes", table);
    }

    private String digest(StorageNode node, OwnerId of) throws IOException {
        return node.status().owners().stream()
                .filter(status -> status.owner().equals(of))
                .flatMap(status -> status.underWay().stream())
                .filter(underWay -> underWay.cycle() == cycle)
                .map(NodeStatus.UnderWay::digest)
                .findFirst()
                .orElseThrow(() -> new HoldfastException(
                        HoldfastException.Category.GONE,
                        "node " + node.id() + " has no plan of cycle " + cycle + " of " + of,
                        "plan again, and approve the newest plan",
                        null));
    }
}
