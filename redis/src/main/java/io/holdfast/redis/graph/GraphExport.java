package io.holdfast.redis.graph;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * Writes what hangs on a root to a file and reads it back. An export runs under a snapshot, so it is of one moment; in
 * three passes: find all values, order them so that children come before their parents, write them a page at a time. An
 * import is written under the lease of one writer, and the root is set when the digest has matched: of a damaged file
 * nothing outlives that lease.
 */
final class GraphExport {

    private static final int PAGE = 128;
    /** Values are at most a chunk large, or else they come alone. */
    private static final int VALUE_PAGE = 64;

    private final ValueGraph graph;
    private final GraphProgress progress;

    GraphExport(ValueGraph graph, GraphProgress progress) {
        this.graph = graph;
        this.progress = progress;
    }

    /** Answers how many values were written. */
    int write(Snapshot snapshot, OutputStream to) throws IOException {
        IdTable ids = new IdTable(graph.width(), 0);
        IdTable.Ints parents = new IdTable.Ints();
        ids.add(snapshot.target());
        int found = 0;
        while (found < ids.size()) {
            List<ValueId> some = new ArrayList<>(PAGE);
            while (found < ids.size() && some.size() < PAGE) {
                some.add(ids.id(found++));
            }
            for (List<ValueId> children : snapshot.childrenOfAll(some).values()) {
                children.forEach(child -> parents.add(ids.add(child), 1));
            }
            progress.at("finding", found, ids.size());
        }
        return writeInOrder(snapshot, ids, order(snapshot, ids, parents), to);
    }

    /** Numbers in an order in which every parent comes before its children. */
    private IdTable.Ints order(Snapshot snapshot, IdTable ids, IdTable.Ints parents) {
        IdTable.Ints order = new IdTable.Ints();
        IdTable.Stack open = new IdTable.Stack();
        open.push(0);
        int ordered = 0;
        while (!open.isEmpty()) {
            List<ValueId> some = new ArrayList<>(PAGE);
            while (!open.isEmpty() && some.size() < PAGE) {
                int id = open.pop();
                order.set(ordered++, id);
                some.add(ids.id(id));
            }
            for (List<ValueId> children : snapshot.childrenOfAll(some).values()) {
                for (ValueId child : children) {
                    int id = ids.find(child);
                    parents.add(id, -1);
                    if (parents.get(id) == 0) {
                        open.push(id);
                    }
                }
            }
            progress.at("ordering", ordered, ids.size());
        }
        return order;
    }

    private int writeInOrder(Snapshot snapshot, IdTable ids, IdTable.Ints order, OutputStream to) throws IOException {
        ExportFile.Writer file = new ExportFile.Writer(to, snapshot.root(), ids.size());
        IdTable.Ints places = new IdTable.Ints();
        int written = 0;
        while (written < ids.size()) {
            List<ValueId> some = new ArrayList<>(VALUE_PAGE);
            for (int i = written; i < ids.size() && some.size() < VALUE_PAGE; i++) {
                some.add(ids.id(order.get(ids.size() - 1 - i)));
            }
            Map<ValueId, byte[]> values = snapshot.getAll(some);
            Map<ValueId, List<ValueId>> children = snapshot.childrenOfAll(some);
            for (ValueId id : some) {
                int[] numbers = children.getOrDefault(id, Collections.emptyList()).stream()
                        .mapToInt(child -> places.get(ids.find(child)))
                        .toArray();
                file.value(numbers, values.getOrDefault(id, new byte[0]));
                places.set(ids.find(id), written++);
            }
            progress.at("writing", written, ids.size());
        }
        file.end();
        return written;
    }

    /** Answers how many values were read. */
    int read(ExportFile.Reader file, String root) {
        IdTable.Ids ids = new IdTable.Ids(graph.width());
        try (GraphWriter writer = graph.writer()) {
            while (ids.size() < file.values()) {
                ExportFile.Entry entry = file.next();
                List<ValueId> children = new ArrayList<>(entry.children().length);
                for (int child : entry.children()) {
                    children.add(ids.get(child));
                }
                ids.append(writer.put(entry.bytes(), children).raw(), 0);
                progress.at("importing", ids.size(), file.values());
            }
            file.end();
            graph.root(root).set(ids.get(ids.size() - 1));
        }
        return ids.size();
    }
}
