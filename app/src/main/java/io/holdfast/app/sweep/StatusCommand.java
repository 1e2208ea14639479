package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Table;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.node.NodeStatus;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.rpc.RemoteNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** How the nodes stand. */
@Command(
        name = "status",
        description = {
            "Show each node's last cycle, what is under way, what lies in the trash, and alarms.",
            "Exit code 1 if an alarm stands.",
        },
        footer = {
            "  holdfast sweep status --nodes /srv/n1,/srv/n2",
            "  holdfast sweep status --manager 10.0.0.1:7000 --watch",
            "  holdfast sweep status --fleet fleet --owner photos",
        })
public final class StatusCommand extends CliCommand {

    private static final Duration WATCH_EVERY = Duration.ofSeconds(1);

    @Mixin
    private NodesOption nodes = new NodesOption();

    @Mixin
    private final FleetOption fleet = new FleetOption();

    @Option(names = "--manager", paramLabel = "HOST:PORT", description = "A fleet's manager, instead of nodes.")
    private @Nullable String manager;

    @Option(names = "--owner", paramLabel = "NAME", description = "With --fleet: whose cycles.")
    private @Nullable String owner;

    @Option(names = "--watch", description = "With --manager: show it again and again, until stopped.")
    private boolean watch;

    @Override
    protected Answer run(Console console) throws Exception {
        String of = manager;
        if (of != null) {
            try (fleet) {
                while (watch) {
                    console.show(FleetLines.screen(fleet.peers().status(of)));
                    Thread.sleep(WATCH_EVERY);
                }
                return FleetLines.answer(fleet.peers().status(of));
            }
        }
        if (fleet.isGiven()) {
            try (fleet) {
                return askNodes();
            }
        }
        Table cycles = Table.of("node", "owner", "lastCycle", "underWay", "verdict", "wouldTrash", "alarms");
        Table trash = Table.of("node", "owner", "cycle", "since", "emptiesAt", "restored");
        Table alarms = Table.of("node", "owner", "cycle", "piece", "readAt");
        try (OpenNodes open = nodes.open()) {
            for (StorageNode node : open.all()) {
                for (NodeStatus.OfOwner status : node.status().owners()) {
                    add(node.id().name(), status, cycles, trash, alarms);
                }
            }
        }
        Answer answer = alarms.size() > 0 ? Answer.finding() : Answer.ok();
        answer.table("cycles", cycles);
        if (trash.size() > 0) {
            answer.line("").table("trash", trash);
        }
        if (alarms.size() > 0) {
            answer.line("").table("alarms", alarms);
            answer.line("These pieces were read though they were in the trash; they are back. Plan a cycle: it asks"
                    + " the catalogue about them.");
        }
        return answer;
    }

    private Answer askNodes() throws Exception {
        String name = owner;
        if (name == null) {
            throw HoldfastException.misuse("--fleet without --owner", "name whose cycles to look at");
        }
        OwnerId of = new OwnerId(name);
        Table table = Table.of("node", "lastCycle", "state", "verdict", "wouldTrash", "trashed", "alarms", "detail");
        boolean finding = false;
        for (Asked asked : ask(of)) {
            NodeProgress progress = asked.progress();
            finding |= progress == null || !progress.alarms().isEmpty();
            if (progress == null) {
                table.row(asked.node(), null, null, null, null, null, null, asked.problem());
            } else {
                table.row(
                        asked.node(),
                        progress.lastCycle(),
                        progress.state(),
                        progress.verdict().toLowerCase(Locale.ROOT).replace('_', '-'),
                        progress.wouldTrash(),
                        progress.trashed(),
                        progress.alarms().size(),
                        progress.detail());
            }
        }
        return (finding ? Answer.finding() : Answer.ok()).table("nodes", table);
    }

    /** What a node said, or why it said nothing. */
    private record Asked(String node, @Nullable NodeProgress progress, String problem) {}

    private List<Asked> ask(OwnerId of) throws Exception {
        List<Callable<Asked>> tasks = new ArrayList<>();
        for (RemoteNode node : fleet.nodes()) {
            tasks.add(() -> {
                try {
                    long last = node.progress(of, 0).lastCycle();
                    return new Asked(node.id().name(), node.progress(of, last), "");
                } catch (HoldfastException e) {
                    return new Asked(node.id().name(), null, "" + e.getMessage());
                }
            });
        }
        try (ScanThreads callers = ScanThreads.ofCallers(FleetOption.CALLERS)) {
            return callers.all(tasks);
        }
    }

    private static void add(String node, NodeStatus.OfOwner status, Table cycles, Table trash, Table alarms) {
        String owner = status.owner().name();
        NodeStatus.UnderWay underWay = status.underWay().orElse(null);
        cycles.row(
                node,
                owner,
                status.lastCycle(),
                underWay == null ? "-" : underWay.released() ? "trashing" : "planned",
                underWay == null ? null : underWay.verdict(),
                underWay == null ? null : underWay.wouldTrash(),
                status.alarms().size());
        status.trash()
                .forEach(entry ->
                        trash.row(node, owner, entry.cycle(), entry.since(), entry.emptiesAt(), entry.restored()));
        status.alarms()
                .forEach(alarm ->
                        alarms.row(node, owner, alarm.cycle(), alarm.id().toString(), alarm.at()));
    }
}
