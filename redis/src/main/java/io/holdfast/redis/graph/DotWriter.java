package io.holdfast.redis.graph;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Draws what hangs on a root, for Graphviz: level by level, up to a number of values; where it was cut it says so. */
final class DotWriter {

    private static final int PAGE = 128;

    private final ValueGraph graph;
    private final Appendable to;
    private final int limit;

    DotWriter(ValueGraph graph, Appendable to, int limit) {
        this.graph = graph;
        this.to = to;
        this.limit = limit;
    }

    /** Answers how many values were drawn. */
    int draw(Snapshot snapshot) throws IOException {
        line("digraph \"" + graph.name() + "\" {");
        line("  node [shape=box, fontname=monospace];");
        line("  root [shape=oval, label=\"" + escape(snapshot.root()) + "\"];");
        line("  root -> \"" + snapshot.target() + "\";");
        Set<ValueId> drawn = new HashSet<>(List.of(snapshot.target()));
        Deque<ValueId> open = new ArrayDeque<>(drawn);
        while (!open.isEmpty()) {
            List<ValueId> some = new ArrayList<>();
            while (!open.isEmpty() && some.size() < PAGE) {
                some.add(open.removeFirst());
            }
            long[] sizes = graph.inspectionScripts().sizes(some);
            for (int i = 0; i < some.size(); i++) {
                String label = shortForm(some.get(i)) + "\\n" + sizes[i] + " B";
                line("  \"" + some.get(i) + "\" [label=\"" + label + "\"];");
            }
            for (Map.Entry<ValueId, List<ValueId>> entry :
                    graph.reader().childrenOfAll(some).entrySet()) {
                drawChildren(entry.getKey(), entry.getValue(), drawn, open);
            }
        }
        line("}");
        return drawn.size();
    }

    private void drawChildren(ValueId parent, List<ValueId> children, Set<ValueId> drawn, Deque<ValueId> open)
            throws IOException {
        int cut = 0;
        for (ValueId child : children) {
            if (!drawn.contains(child) && drawn.size() < limit) {
                drawn.add(child);
                open.addLast(child);
            }
            if (drawn.contains(child)) {
                line("  \"" + parent + "\" -> \"" + child + "\";");
            } else {
                cut++;
            }
        }
        if (cut > 0) {
            line("  \"cut " + parent + "\" [shape=plaintext, label=\"… " + cut + " more\"];");
            line("  \"" + parent + "\" -> \"cut " + parent + "\" [style=dashed];");
        }
    }

    private void line(String text) throws IOException {
        to.append(text).append('\n');
    }

    /** The end of an id is what tells ids apart. */
    private static String shortForm(ValueId id) {
        String text = id.toString();
        return "…" + text.substring(text.length() - 8);
    }

    private static String escape(String text) {
        return text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
    }
}
