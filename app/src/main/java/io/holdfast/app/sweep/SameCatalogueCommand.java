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
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Says that a catalogue is the same, though its incarnation has changed. */
@Command(
        name = "same-catalogue",
        description = {
            "Say that the cycle which waits as other-catalogue is about the same catalogue.",
            "That is right when the database has failed over and lost nothing.",
            "The next cycle goes on by itself on all nodes; brakes hold as ever.",
            "After a restore from a backup this is wrong: pieces committed since the backup would look like garbage.",
        },
        footer = {
            "  holdfast sweep same-catalogue 12 --owner photos --fleet fleet --key ann.key",
            "  holdfast sweep same-catalogue 12 --owner photos --nodes /srv/n1,/srv/n2",
        })
public final class SameCatalogueCommand extends CliCommand {

    @Parameters(paramLabel = "CYCLE", description = "The cycle that waits.")
    private long cycle;

    @Option(names = "--owner", paramLabel = "NAME", required = true, description = "Whose catalogue.")
    private String owner = "";

    @Mixin
    private NodesOption nodes = new NodesOption();

    @Mixin
    private final FleetOption fleet = new FleetOption();

    private final Table table = Table.of("node", "detail");
    private boolean failed;

    /** What is done with one node. */
    @FunctionalInterface
    private interface Saying {
        void to() throws IOException;
    }

    @Override
    protected Answer run(Console console) throws Exception {
        OwnerId of = new OwnerId(owner);
        if (fleet.isGiven()) {
            try (fleet) {
                Orders orders = fleet.orders();
                for (RemoteNode node : fleet.nodes()) {
                    say(node.id().name(), () -> {
                        var _ = node.carry(
                                orders.order(Order.Kind.SAME_CATALOGUE, of, node.id(), cycle, "", 0, "operator"));
                    });
                }
            }
        } else {
            try (OpenNodes open = nodes.open()) {
                for (StorageNode node : open.all()) {
                    say(node.id().name(), () -> node.sameCatalogue(of, cycle));
                }
            }
        }
        return (failed ? Answer.finding() : Answer.ok()).table("nodes", table);
    }

    private void say(String node, Saying saying) throws IOException {
        try {
            saying.to();
            table.row(node, "the next cycle goes on by itself");
        } catch (HoldfastException e) {
            failed = true;
            table.row(node, "" + e.getMessage());
        }
    }
}
