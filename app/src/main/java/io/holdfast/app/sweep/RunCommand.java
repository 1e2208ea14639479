package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.sweep.Sweep;
import io.holdfast.sweep.SweepReport;
import io.holdfast.sweep.cycle.Vouch;
import io.holdfast.sweep.manager.ManagerSettings;
import io.holdfast.sweep.node.NodeSettings;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.KeyRing;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** One whole cycle. */
@Command(
        name = "run",
        description = {
            "Plan a cycle and trash what the nodes are ready to trash. The first cycle of a node is a dry run.",
            "With --fleet, workers build the filters and nodes are other processes; --listen lets workers register.",
            "What was trashed can be restored until it is deleted for good, which --empty does for what two cycles"
                    + " agree on.",
        },
        footer = {
            "  holdfast sweep run --catalogue pieces.csv --nodes /srv/n1,/srv/n2",
            "  holdfast sweep run --catalogue pieces.csv --nodes /srv/n1 --empty --json",
            "  holdfast sweep run --catalogue pieces.csv --fleet fleet --key manager.key --log /var/lib/holdfast",
            "  holdfast sweep run --catalogue pieces.csv --fleet fleet --key m.key --log redis://localhost --listen"
                    + " 10.0.0.1:7000 --stay",
        })
public final class RunCommand extends CliCommand {

    @Mixin
    private CatalogueOption catalogue = new CatalogueOption();

    @Mixin
    private NodesOption nodes = new NodesOption();

    @Option(
            names = "--empty",
            description =
                    "Afterwards delete for good what is old enough in the trash and was missed by a later cycle too.")
    private boolean empty;

    @Option(
            names = "--vouch",
            paramLabel = "FILE",
            description =
                    "An operator's signed word that an idle catalogue is whole (holdfast sweep vouch); needs --keys.")
    private @Nullable Path vouch;

    @Mixin
    private final FleetOption fleet = new FleetOption();

    @Option(
            names = "--log",
            paramLabel = "WHERE",
            order = 73,
            description = "For a fleet: where cycles are numbered, a folder or a Redis URI shared by all managers.")
    private @Nullable String log;

    @Option(
            names = "--listen",
            paramLabel = "HOST:PORT",
            order = 74,
            description = "For a fleet: where workers register and 'sweep status --manager' looks.")
    private @Nullable String listen;

    @Option(
            names = "--stay",
            order = 75,
            description = "For a fleet: run a cycle every sweep.manager.interval; needs --listen.")
    private boolean stay;

    private Answer runFleet(Console console) throws Exception {
        String where = log;
        if (where == null || (stay && listen == null)) {
            throw HoldfastException.misuse(
                    where == null ? "a fleet without --log" : "--stay without --listen",
                    "give --log FOLDER, and --listen HOST:PORT with --stay");
        }
        Duration every = stay ? Settings.ofProcess().get(ManagerSettings.INTERVAL) : null;
        try (fleet) {
            return catalogue.use(known -> new FleetRun(fleet, known, console, where)
                    .vouched(vouched(known.owner()))
                    .run(listen, every, empty));
        }
    }

    private Instant vouched(OwnerId owner) throws IOException {
        Path file = vouch;
        if (file == null) {
            return Instant.EPOCH;
        }
        KeyRing ring =
                fleet.ring().orElseThrow(() -> HoldfastException.misuse("--vouch without --keys", "name the key ring"));
        Duration skew = Settings.ofProcess().get(NodeSettings.CLOCK_SKEW);
        return Vouch.read(file, owner, ring, Instant.now(), skew).upTo();
    }

    @Override
    protected Answer run(Console console) throws Exception {
        if (fleet.isGiven()) {
            return runFleet(console);
        }
        try (OpenNodes open = nodes.open();
                CycleBars bars = new CycleBars(console, open.all().size())) {
            for (StorageNode node : open.all()) {
                node.resume(StorageNode.Progress.NONE)
                        .forEach(report -> console.note("node " + report.node() + " finished cycle " + report.cycle()
                                + ", which had been cut short: " + report.trashed() + " trashed"));
            }
            return catalogue.use(known -> {
                Sweep sweep = Sweep.of(known)
                        .nodes(open.all())
                        .vouched(vouched(known.owner()))
                        .settings(Settings.ofProcess())
                        .progress(bars);
                SweepReport report = sweep.plan().trash();
                bars.end();
                Answer answer = CycleAnswer.of(report, true);
                if (empty) {
                    Sweep.Emptied emptied = sweep.empty();
                    answer.line(emptied.removed() + " pieces were deleted for good")
                            .field("emptied", emptied.removed());
                    emptied.failures().forEach((node, why) -> answer.line("node " + node + " was not emptied: " + why));
                }
                return answer;
            });
        }
    }
}
