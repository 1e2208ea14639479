package io.holdfast.app.sweep;

import io.holdfast.Settings;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.sweep.Sweep;
import io.holdfast.sweep.SweepReport;
import io.holdfast.sweep.node.StorageNode;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** One whole cycle. */
@Command(
        name = "run",
        description = {
            "Plan a cycle and trash what the nodes are ready to trash. The first cycle of a node is a dry run.",
            "What was trashed can be restored until the trash is emptied, which --empty does for what is old enough.",
        },
        footer = {
            "  holdfast sweep run --catalogue pieces.csv --nodes /srv/n1,/srv/n2",
            "  holdfast sweep run --catalogue pieces.csv --nodes /srv/n1 --empty --json",
        })
public final class RunCommand extends CliCommand {

    @Mixin
    private CatalogueOption catalogue = new CatalogueOption();

    @Mixin
    private NodesOption nodes = new NodesOption();

    @Option(names = "--empty", description = "Afterwards delete for good what has been in the trash long enough.")
    private boolean empty;

    @Override
    protected Answer run(Console console) throws Exception {
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
                        .settings(Settings.ofProcess())
                        .progress(bars);
                SweepReport report = sweep.plan().trash();
                bars.end();
                Answer answer = CycleAnswer.of(report, true);
                if (empty) {
                    long removed = sweep.empty();
                    answer.line(removed + " pieces were deleted for good").field("emptied", removed);
                }
                return answer;
            });
        }
    }
}
