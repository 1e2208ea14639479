package io.holdfast.app.graph;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Table;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Lists roots, shows one, sets one. */
@Command(
        name = "root",
        description = "List the roots of a graph, show one, or let one name a value.",
        footer = {
            "  holdfast graph root docs",
            "  holdfast graph root docs main",
            "  holdfast graph root docs main --set 01a1e10f3d49f66afc24422a310de14b",
        })
final class RootCommand extends OneGraphCommand {

    @Parameters(index = "1", arity = "0..1", paramLabel = "ROOT", description = "The root; without it, all are listed.")
    private @Nullable String root;

    @Option(names = "--set", paramLabel = "ID", description = "The value that the root shall name; it must be alive.")
    private @Nullable String target;

    @Override
    Answer run(ValueGraph graph, Console console) {
        Map<String, ValueId> roots = new TreeMap<>();
        String one = root;
        if (one == null) {
            roots.putAll(graph.roots());
        } else {
            if (target != null) {
                graph.root(one).set(ValueId.parse(target));
            }
            roots.put(one, graph.root(one).target().orElseThrow(() -> noRoot(graph, one)));
        }
        Table table = Table.of("root", "value");
        roots.forEach((name, id) -> table.row(name, id.toString()));
        return Answer.ok().table("roots", table);
    }
}
