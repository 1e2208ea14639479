package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Table;
import io.holdfast.sweep.manager.Orders;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.Order;
import io.holdfast.sweep.rpc.RemoteNode;
import java.io.IOException;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Accepts that live pieces are lost. */
@Command(
        name = "losses",
        description = {
            "Accept that so many live pieces are lost on the given nodes.",
            "A node that misses more live pieces than that refuses every cycle, since the ids may be mixed up.",
        },
        footer = {
            "  holdfast sweep losses 3 --owner photos --nodes /srv/n1",
            "  holdfast sweep losses 3 --owner photos --node n1 --fleet fleet --key ann.key",
        })
public final class LossesCommand extends CliCommand {

    @Parameters(paramLabel = "COUNT", description = "How many, in all.")
    private long count;

    @Option(names = "--owner", paramLabel = "NAME", required = true, description = "Whose pieces.")
    private String owner = "";

    @Option(names = "--node", paramLabel = "NAME", description = "With --fleet: which of its nodes; may be repeated.")
    private List<String> names = List.of();

    @Mixin
    private NodesOption nodes = new NodesOption();

    @Mixin
    private final FleetOption fleet = new FleetOption();

    @Override
    protected Answer run(Console console) throws Exception {
        OwnerId of = new OwnerId(owner);
        if (fleet.isGiven()) {
            try (fleet) {
                return accept(of);
            }
        }
        try (OpenNodes open = nodes.open()) {
            open.refuseUnknown(of);
            for (StorageNode node : open.all()) {
                node.knownLosses(of, count);
            }
            return Answer.ok()
                    .line(count + " lost pieces of " + owner + " are accepted on "
                            + open.all().size() + " nodes")
                    .field("knownLosses", count);
        }
    }

    /** Each node is named: a loss is accepted where it happened, and nowhere else. */
    private Answer accept(OwnerId of) throws IOException {
        if (names.isEmpty() || count < 0) {
            throw HoldfastException.misuse(
                    names.isEmpty() ? "losses in a fleet without --node" : count + " lost pieces",
                    "name each node with --node, and give 0 or more");
        }
        Orders orders = fleet.orders();
        List<RemoteNode> all = fleet.nodes();
        Table table = Table.of("node", "knownLosses", "detail");
        boolean failed = false;
        for (String name : names) {
            RemoteNode node = all.stream()
                    .filter(one -> one.id().name().equals(name))
                    .findFirst()
                    .orElseThrow(() ->
                            HoldfastException.misuse("node " + name + " is not in the fleet's file", "name one of it"));
            try {
                node.carry(orders.order(Order.Kind.LOSSES, of, node.id(), 0, "", count, "operator"));
                table.row(name, count, "accepted");
            } catch (HoldfastException e) {
                failed = true;
                table.row(name, 0, "" + e.getMessage());
            }
        }
        return (failed ? Answer.finding() : Answer.ok()).table("nodes", table);
    }
}
