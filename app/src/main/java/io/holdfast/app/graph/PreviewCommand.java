package io.holdfast.app.graph;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.PhaseBars;
import io.holdfast.redis.graph.Preview;
import io.holdfast.redis.graph.ValueGraph;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Says what dropping a root would free. */
@Command(
        name = "preview",
        description = "Say what dropping a root would free, in values and bytes. Nothing is written.",
        footer = "  holdfast graph preview docs main")
final class PreviewCommand extends OneGraphCommand {

    @Parameters(index = "1", paramLabel = "ROOT", description = "The root.")
    private String root = "";

    @Override
    Answer run(ValueGraph graph, Console console) {
        try (PhaseBars bars = new PhaseBars(console)) {
            Preview preview = graph.inspect().preview(root, bars);
            return Answer.ok()
                    .line("dropping root " + root + " would free values: " + preview.values() + ", bytes: "
                            + preview.bytes())
                    .line("shared with something else, these would stay: " + preview.spared())
                    .field("root", root)
                    .field("values", preview.values())
                    .field("bytes", preview.bytes())
                    .field("spared", preview.spared());
        }
    }
}
