package io.holdfast.app.graph;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.PhaseBars;
import io.holdfast.redis.graph.ValueGraph;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Writes what hangs on a root to a file. */
@Command(
        name = "export",
        description = {
            "Write what hangs on a root, as it is at this moment, to a file with a digest.",
            "The file appears under its name when it is complete.",
        },
        footer = "  holdfast graph export docs main docs.hfgraph")
final class ExportCommand extends OneGraphCommand {

    @Parameters(index = "1", paramLabel = "ROOT", description = "The root.")
    private String root = "";

    @Parameters(index = "2", paramLabel = "FILE", description = "The file to write.")
    private Path file = Path.of("");

    @Override
    Answer run(ValueGraph graph, Console console) throws IOException {
        Path part = Path.of(file + ".part");
        Path folder = file.toAbsolutePath().getParent();
        if (folder != null && !Files.isDirectory(folder)) {
            throw new NoSuchFileException(folder.toString());
        }
        int values;
        try (PhaseBars bars = new PhaseBars(console)) {
            try (OutputStream to = new BufferedOutputStream(Files.newOutputStream(part), 1 << 16)) {
                values = graph.exportTo(to, root, bars);
            }
            Files.move(part, file, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(part);
        }
        long bytes = Files.size(file);
        return Answer.ok()
                .line(values + " values, " + bytes + " bytes, written to " + file)
                .field("values", values)
                .field("bytes", bytes)
                .field("file", file);
    }
}
