package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Table;
import io.holdfast.sweep.manager.Orders;
import io.holdfast.sweep.node.Approval;
import io.holdfast.sweep.node.NodeAgent;
import io.holdfast.sweep.node.NodeReport;
import io.holdfast.sweep.node.NodeStatus;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.Order;
import io.holdfast.sweep.rpc.RemoteNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
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
            "--report takes both from a report that you have read: the JSON of 'sweep run' or 'sweep plan'.",
        },
        footer = {
            "  holdfast sweep approve 7 --owner photos --operator ann --node n1=120 --nodes /srv/n1",
            "  holdfast sweep approve 7 --owner photos --operator ann --node n1=120 --fleet fleet --key ann.key",
            "  holdfast sweep approve 7 --owner photos --operator ann --report cycle7.json --fleet fleet --key ann.key",
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
            description = "A node, and how many pieces it said it would trash. May be repeated.")
    private Map<String, Long> approved = new LinkedHashMap<>();

    @Option(
            names = "--report",
            paramLabel = "FILE",
            description = "Every node that waits in this report, with the number that stands there.")
    private @Nullable Path report;

    @Mixin
    private NodesOption nodes = new NodesOption();

    @Mixin
    private final FleetOption fleet = new FleetOption();

    @Override
    protected Answer run(Console console) throws Exception {
        OwnerId of = new OwnerId(owner);
        Path file = report;
        if (approved.isEmpty() == (file == null)) {
            throw HoldfastException.misuse(
                    approved.isEmpty() ? "an approval of no node" : "an approval with both --node and --report",
                    "name the nodes with --node, or a report with --report");
        }
        if (file != null) {
            approved = WaitingNodes.read(file, of, cycle);
        }
        if (fleet.isGiven()) {
            try (fleet) {
                return approveFleet(of);
            }
        }
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

    private Answer approveFleet(OwnerId of) throws Exception {
        Orders orders = fleet.orders();
        Table table = Table.of("node", "toTrash", "detail");
        boolean refused = false;
        Map<String, RemoteNode> nodes = new LinkedHashMap<>();
        fleet.nodes().forEach(node -> nodes.put(node.id().name(), node));
        for (Map.Entry<String, Long> entry : approved.entrySet()) {
            RemoteNode node = nodes.get(entry.getKey());
            if (node == null) {
                throw HoldfastException.misuse(
                        "node " + entry.getKey() + " is not in the fleet file", "name one of " + nodes.keySet());
            }
            try {
                String digest = node.progress(of, cycle).digest();
                NodeAgent.Carried carried = node.carry(
                        orders.order(Order.Kind.APPROVE, of, node.id(), cycle, digest, entry.getValue(), operator));
                table.row(node.id().name(), carried.count(), carried.detail());
            } catch (HoldfastException e) {
                refused = true;
                table.row(node.id().name(), 0, e.getMessage());
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
