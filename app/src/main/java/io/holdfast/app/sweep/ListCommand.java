package io.holdfast.app.sweep;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.sweep.node.PieceStore;
import io.holdfast.sweep.piece.PieceId;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Lists the pieces of an owner on a node. */
@Command(
        name = "list",
        description = {
            "List the live pieces of an owner on a node.",
        },
        footer = {
            "  holdfast sweep list n1 --owner photos --fleet fleet",
        })
public final class ListCommand extends CliCommand {

    @Parameters(index = "0", paramLabel = "NODE", description = "The node.")
    private String node = "";

    @Mixin
    private final PieceOption where = new PieceOption();

    @Override
    protected Answer run(Console console) throws Exception {
        return where.on(node, pieces -> {
            long[] count = {0};
            pieces.list(where.owner(), new PieceStore.Visitor() {
                @Override
                public void piece(byte[] id) {
                    count[0]++;
                    console.say(PieceId.of(id).toString());
                }

                @Override
                public void unknown(String name) {
                    // Not a piece.
                }
            });
            return Answer.ok().field("pieces", count[0]);
        });
    }
}
