package io.holdfast.app.sweep;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.OwnerId;
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
        })
public final class LossesCommand extends CliCommand {

    @Parameters(paramLabel = "COUNT", description = "How many, in all.")
    private long count;

    @Option(names = "--owner", paramLabel = "NAME", required = true, description = "Whose pieces.")
    private String owner = "";

    @Mixin
    private NodesOption nodes = new NodesOption();

    @Override
    protected Answer run(Console console) throws Exception {
        OwnerId of = new OwnerId(owner);
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
}
