package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Reads a piece from a node. */
@Command(
        name = "get",
        description = {
            "Read a piece into a file. A piece in the trash comes back, and an alarm is left behind.",
        },
        footer = {
            "  holdfast sweep get n1/00ff12 --out photo.jpg --owner photos --fleet fleet",
        })
public final class GetCommand extends CliCommand {

    @Parameters(index = "0", paramLabel = "NODE/ID", description = "The piece: its id in base32 or hexadecimal digits.")
    private String piece = "";

    @Option(names = "--out", paramLabel = "FILE", required = true, description = "Where its bytes go; not there yet.")
    private Path out = Path.of("");

    @Mixin
    private final PieceOption where = new PieceOption();

    @Override
    protected Answer run(Console console) throws Exception {
        PieceOption.Named named = PieceOption.Named.parse(piece);
        return where.on(named.node(), pieces -> {
            Optional<InputStream> found = pieces.get(where.owner(), named.id(pieces));
            if (found.isEmpty()) {
                throw new HoldfastException(
                        HoldfastException.Category.GONE,
                        "node " + named.node() + " has no such piece of " + where.owner(),
                        "holdfast why piece:" + named.node() + "/" + named.id() + " says more",
                        null);
            }
            try (InputStream bytes = found.get()) {
                return Answer.ok().line(piece + ": " + save(bytes) + " bytes");
            }
        });
    }

    /** The file is there when all of it is there. */
    private long save(InputStream bytes) throws IOException {
        if (Files.exists(out)) {
            throw HoldfastException.misuse(out + " is there already", "name another file");
        }
        Path part = Path.of(out + ".part");
        try {
            long count = Files.copy(bytes, part, StandardCopyOption.REPLACE_EXISTING);
            Files.move(part, out, StandardCopyOption.ATOMIC_MOVE);
            return count;
        } finally {
            Files.deleteIfExists(part);
        }
    }
}
