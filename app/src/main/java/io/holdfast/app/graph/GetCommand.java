package io.holdfast.app.graph;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Reads one value. */
@Command(
        name = "get",
        description = {
            "Print a value, or write it to a file.",
            "With --json also its children, and its bytes as base64."
        },
        footer = {
            "  holdfast graph get docs main                                      # what the root main names",
            "  holdfast graph get docs 01a1e10f3d49f66afc24422a310de14b --out page.html",
        })
final class GetCommand extends OneGraphCommand {

    @Parameters(index = "1", paramLabel = "ID|ROOT", description = "The value's id, or a root that names it.")
    private String what = "";

    @Option(names = "--out", paramLabel = "FILE", description = "Write the bytes there instead of printing them.")
    private @Nullable Path out;

    @Override
    Answer run(ValueGraph graph, Console console) throws IOException {
        ValueId id = resolve(graph, what);
        byte[] value = graph.find(id)
                .orElseThrow(() -> new HoldfastException(
                        Category.GONE,
                        "there is no value " + id + " in graph " + graph.name(),
                        "ask 'holdfast why value:" + graph.name() + "/" + id + "'",
                        null));
        List<String> children =
                graph.children(id).stream().map(ValueId::toString).toList();
        Optional<String> text = text(value);
        Answer answer = Answer.ok()
                .field("id", id.toString())
                .field("bytes", value.length)
                .field("children", children)
                .field("text", text.orElse(null))
                .field("base64", Base64.getEncoder().encodeToString(value));
        if (out != null) {
            Files.write(out, value);
            return answer.line(value.length + " bytes written to " + out);
        }
        return answer.line(text.map(GetCommand::withoutLastLineEnd)
                .orElse("(" + value.length + " bytes that are no text: use --out FILE)"));
    }

    /** The line that is printed has one of its own. */
    private static String withoutLastLineEnd(String text) {
        return text.endsWith("\n") ? text.substring(0, text.length() - 1) : text;
    }

    /** An id, or the name of a root. */
    static ValueId resolve(ValueGraph graph, String what) {
        if (what.matches("[0-9a-f]{32}|[0-9a-f]{64}")) {
            return ValueId.parse(what);
        }
        return graph.root(what).target().orElseThrow(() -> noRoot(graph, what));
    }

    private static Optional<String> text(byte[] value) {
        try {
            return Optional.of(StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(value))
                    .toString());
        } catch (CharacterCodingException e) {
            return Optional.empty();
        }
    }
}
