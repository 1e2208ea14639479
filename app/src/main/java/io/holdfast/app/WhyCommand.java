package io.holdfast.app;

import io.holdfast.HoldfastException;
import io.holdfast.ThingId;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.app.sweep.PieceWhy;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.FileCatalogue;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Why a thing is alive, or why it is gone. */
@Command(
        name = "why",
        description = "Say why a thing is alive, or why it is gone.",
        footer = {
            "  holdfast why piece:n1/ge3dambqgaydamrqgaytcnzq --nodes /srv/n1",
            "  holdfast why piece:n1/ge3dambqgaydamrqgaytcnzq --nodes /srv/n1 --catalogue pieces.csv",
        })
public final class WhyCommand extends CliCommand {

    @Parameters(paramLabel = "KIND:ID", description = "The thing: piece:NODE/ID.")
    private ThingId thing = new ThingId(ThingId.Kind.PIECE, "none", "none");

    @Option(
            names = "--nodes",
            paramLabel = "FOLDER",
            split = ",",
            description = "For a piece: the folders of the storage nodes.")
    private List<Path> nodes = new ArrayList<>();

    @Option(names = "--catalogue", paramLabel = "FILE", description = "For a piece: a catalogue file to ask as well.")
    private @Nullable Path catalogue;

    @Override
    protected Answer run(Console console) throws Exception {
        if (thing.kind() != ThingId.Kind.PIECE) {
            throw HoldfastException.misuse("'" + thing + "' is not a piece", "ask for piece:NODE/ID");
        }
        Optional<Catalogue> known = catalogue == null ? Optional.empty() : Optional.of(FileCatalogue.of(catalogue));
        return PieceWhy.answer(thing, nodes, known);
    }
}
