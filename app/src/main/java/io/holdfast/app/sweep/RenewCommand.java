package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Renews the age of a piece. */
@Command(
        name = "renew",
        description = {
            "Renew the age of a piece that is to be used again, before its row is committed.",
            "It comes back if it lies in the trash. Not found means that it must be put.",
        },
        footer = {
            "  holdfast sweep renew n1/00ff12 --owner photos --fleet fleet",
        })
public final class RenewCommand extends CliCommand {

    @Parameters(index = "0", paramLabel = "NODE/ID", description = "The piece: its id in base32 or hexadecimal digits.")
    private String piece = "";

    @Mixin
    private final PieceOption where = new PieceOption();

    @Override
    protected Answer run(Console console) throws Exception {
        PieceOption.Named named = PieceOption.Named.parse(piece);
        return where.on(named.node(), pieces -> {
            if (!pieces.renew(where.owner(), named.id(pieces))) {
                throw new HoldfastException(
                        HoldfastException.Category.GONE,
                        "node " + named.node() + " has no such piece of " + where.owner(),
                        "put it",
                        null);
            }
            return Answer.ok().line(piece + ": renewed");
        });
    }
}
