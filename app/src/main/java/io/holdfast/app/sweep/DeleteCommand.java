package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Deletes a piece for good. */
@Command(
        name = "delete",
        description = {
            "Delete a piece for good, as its owner does. A cycle needs none of it.",
        },
        footer = {
            "  holdfast sweep delete n1/00ff12 --owner photos --fleet fleet",
        })
public final class DeleteCommand extends CliCommand {

    @Parameters(index = "0", paramLabel = "NODE/ID", description = "The piece: its id in base32 or hexadecimal digits.")
    private String piece = "";

    @Mixin
    private final PieceOption where = new PieceOption();

    @Override
    protected Answer run(Console console) throws Exception {
        PieceOption.Named named = PieceOption.Named.parse(piece);
        return where.on(named.node(), pieces -> {
            if (!pieces.delete(where.owner(), named.id(pieces))) {
                throw new HoldfastException(
                        HoldfastException.Category.GONE,
                        "node " + named.node() + " has no such piece of " + where.owner(),
                        "check node, owner and id",
                        null);
            }
            return Answer.ok().line(piece + ": deleted");
        });
    }
}
