package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Puts a piece on a node. */
@Command(
        name = "put",
        description = {
            "Put a file as a piece on a node. A piece that is there already is renewed.",
        },
        footer = {
            "  holdfast sweep put n1/00ff12 photo.jpg --owner photos --fleet fleet",
            "  holdfast sweep put n1/00ff12 photo.jpg --owner photos --nodes /srv/n1",
        })
public final class PutCommand extends CliCommand {

    @Parameters(index = "0", paramLabel = "NODE/ID", description = "The piece: its id in base32 or hexadecimal digits.")
    private String piece = "";

    @Parameters(index = "1", paramLabel = "FILE", description = "Its bytes.")
    private Path file = Path.of("");

    @Mixin
    private final PieceOption where = new PieceOption();

    @Override
    protected Answer run(Console console) throws Exception {
        if (!Files.isRegularFile(file)) {
            throw HoldfastException.misuse(file + " is not a file", "name the file with the piece's bytes");
        }
        PieceOption.Named named = PieceOption.Named.parse(piece);
        return where.on(named.node(), pieces -> {
            try (InputStream bytes = Files.newInputStream(file)) {
                String outcome = pieces.put(where.owner(), named.id(pieces), bytes)
                        .name()
                        .toLowerCase(Locale.ROOT);
                return Answer.ok().line(piece + ": " + outcome).field("outcome", outcome);
            }
        });
    }
}
