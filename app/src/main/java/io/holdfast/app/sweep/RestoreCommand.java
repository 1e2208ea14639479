package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Table;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.manager.Orders;
import io.holdfast.sweep.node.NodeAgent;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.Order;
import io.holdfast.sweep.rpc.RemoteNode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Undoes a cycle. */
@Command(
        name = "restore",
        description = {
            "Undo a cycle on the given nodes: void it for good, then bring back everything that it trashed.",
            "A live piece is never replaced. May be repeated.",
        },
        footer = {
            "  holdfast sweep restore 7 --owner photos --nodes /srv/n1,/srv/n2",
            "  holdfast sweep restore 7 --owner photos --fleet fleet --key ann.key",
        })
public final class RestoreCommand extends CliCommand {

    @Parameters(paramLabel = "CYCLE", description = "The cycle to undo.")
    private long cycle;

    @Option(names = "--owner", paramLabel = "NAME", required = true, description = "Whose pieces.")
    private String owner = "";

    @Mixin
    private NodesOption nodes = new NodesOption();

    @Mixin
    private final FleetOption fleet = new FleetOption();

    @Override
    protected Answer run(Console console) throws Exception {
        OwnerId of = new OwnerId(owner);
        if (fleet.isGiven()) {
            try (fleet) {
                return restoreFleet(of);
            }
        }
        Table table = Table.of("node", "restored", "keptLive");
        boolean any = false;
        try (OpenNodes open = nodes.open()) {
            open.refuseUnknown(of);
            for (StorageNode node : open.all()) {
                StorageNode.Restored restored = node.restore(of, cycle);
                any |= restored.restored() + restored.keptLive() > 0;
                table.row(node.id().name(), restored.restored(), restored.keptLive());
            }
        }
        Answer answer = Answer.ok().table("nodes", table);
        return any
                ? answer
                : answer.line("nothing of cycle " + cycle + " was in the trash of these nodes; 'holdfast sweep status'"
                        + " shows what is");
    }

    /** What became of one node. */
    private record Asked(String node, long restored, String detail, boolean failed) {}

    /** All nodes are asked, many at once and also after one of them failed: undoing is urgent. */
    private Answer restoreFleet(OwnerId of) throws Exception {
        Orders orders = fleet.orders();
        List<Callable<Asked>> tasks = new ArrayList<>();
        for (RemoteNode node : fleet.nodes()) {
            tasks.add(() -> {
                String name = node.id().name();
                try {
                    NodeAgent.Carried carried =
                            node.carry(orders.order(Order.Kind.RESTORE, of, node.id(), cycle, "", 0, "operator"));
                    return new Asked(name, carried.count(), carried.detail(), false);
                } catch (HoldfastException e) {
                    return new Asked(name, 0, "" + e.getMessage(), true);
                }
            });
        }
        Table table = Table.of("node", "restored", "detail");
        boolean failed = false;
        try (ScanThreads callers = ScanThreads.ofCallers(FleetOption.CALLERS)) {
            for (Asked asked : callers.all(tasks)) {
                failed |= asked.failed();
                table.row(asked.node(), asked.restored(), asked.detail());
            }
        }
        return (failed ? Answer.finding() : Answer.ok()).table("nodes", table);
    }
}
