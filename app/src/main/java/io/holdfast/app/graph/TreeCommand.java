package io.holdfast.app.graph;

import io.holdfast.HoldfastException;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.AtLeastOne;
import io.holdfast.app.cli.Console;
import io.holdfast.redis.graph.Snapshot;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Shows what hangs on a root, as text. */
@Command(
        name = "tree",
        description = "Show what hangs on a root. A value that comes again is marked with *, and not followed again.",
        footer = {
            "  holdfast graph tree docs main",
            "  holdfast graph tree docs main --depth 2 --limit 50",
        })
final class TreeCommand extends OneGraphCommand {

    private static final int DEPTH_MAX = 1000; // show() calls itself

    @Parameters(index = "1", paramLabel = "ROOT", description = "The root.")
    private String root = "";

    @Option(
            names = "--depth",
            converter = AtLeastOne.class,
            defaultValue = "5",
            paramLabel = "N",
            description = "Levels to show, by default 5; at most 1000.")
    private int depth;

    @Option(
            names = "--limit",
            converter = AtLeastOne.class,
            defaultValue = "200",
            paramLabel = "N",
            description = "Lines to show, by default 200.")
    private int limit;

    @Override
    Answer run(ValueGraph graph, Console console) {
        if (depth > DEPTH_MAX) {
            throw HoldfastException.misuse("--depth " + depth + " is not allowed", "give 1 to " + DEPTH_MAX);
        }
        try (Snapshot snapshot = graph.snapshot(root)) {
            Answer answer = Answer.ok().line(root);
            Set<ValueId> seen = new HashSet<>();
            int left = show(snapshot, snapshot.target(), "", true, 1, seen, limit, answer);
            return answer.field("root", root)
                    .field("target", snapshot.target().toString())
                    .field("shown", seen.size())
                    .field("cut", left < 0);
        }
    }

    /** Answers how many lines are left; negative if there was more to show. */
    private int show(
            Snapshot snapshot,
            ValueId id,
            String indent,
            boolean last,
            int level,
            Set<ValueId> seen,
            int lines,
            Answer answer) {
        if (lines <= 0) {
            return -1;
        }
        boolean again = !seen.add(id);
        List<ValueId> children = snapshot.children(id);
        String cut = level == depth && !children.isEmpty() ? "  … " + children.size() + " children" : "";
        String mark = again && !children.isEmpty() ? "  *" : cut;
        answer.line(indent + (last ? "└─ " : "├─ ") + id + mark);
        int left = lines - 1;
        for (int i = 0; i < children.size() && !again && level < depth; i++) {
            if (left <= 0) {
                answer.line(indent + (last ? "   " : "│  ") + "… " + (children.size() - i) + " more");
                return -1;
            }
            boolean end = i == children.size() - 1;
            left = show(snapshot, children.get(i), indent + (last ? "   " : "│  "), end, level + 1, seen, left, answer);
        }
        return left;
    }
}
