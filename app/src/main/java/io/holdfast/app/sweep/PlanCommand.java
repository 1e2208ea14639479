package io.holdfast.app.sweep;

import io.holdfast.Settings;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.sweep.Sweep;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Says what a cycle would trash. */
@Command(
        name = "plan",
        description = {
            "Read the catalogue, let every node examine its pieces, and say what would be trashed.",
            "Nothing is moved. The nodes remember the plan: it can be approved.",
        },
        footer = {
            "  holdfast sweep plan --catalogue pieces.csv --nodes /srv/n1,/srv/n2",
            "  holdfast sweep plan --catalogue jdbc:postgresql://db/photos --query \"$LIVE_PIECES\" --owner photos"
                    + " --nodes /srv/n1",
        })
public final class PlanCommand extends CliCommand {

    @Mixin
    private CatalogueOption catalogue = new CatalogueOption();

    @Mixin
    private NodesOption nodes = new NodesOption();

    @Override
    protected Answer run(Console console) throws Exception {
        try (OpenNodes open = nodes.open();
                CycleBars bars = new CycleBars(console, open.all().size())) {
            return catalogue.use(known -> CycleAnswer.of(
                    Sweep.of(known)
                            .nodes(open.all())
                            .settings(Settings.ofProcess())
                            .progress(bars)
                            .plan()
                            .report(),
                    false));
        }
    }
}
