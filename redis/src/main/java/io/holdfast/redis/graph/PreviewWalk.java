package io.holdfast.redis.graph;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Plays the cascade through in this process: what each freed value would give up, and whether that is its last hold. */
final class PreviewWalk {

    private static final int FREED = 1;
    private static final int PAGE = 128;

    private final ValueGraph graph;
    private final GraphProgress progress;
    private final IdTable ids;
    private final IdTable.Ints givenUp = new IdTable.Ints();
    /** The count + 1; 0: not read yet. */
    private final IdTable.Ints counts = new IdTable.Ints();

    private final IdTable.Flags flags = new IdTable.Flags();
    private final IdTable.Stack open = new IdTable.Stack();
    /** Neighbours in lines of what is freed, as they are after that. */
    private final Map<ValueId, EdgeEntry> lines = new HashMap<>();

    private long values;
    private long bytes;

    PreviewWalk(ValueGraph graph, GraphProgress progress) {
        this.graph = graph;
        this.progress = progress;
        this.ids = new IdTable(graph.width(), 0);
    }

    Preview of(String name) {
        Root root = graph.root(name);
        Root.State state = root.read();
        ValueId target = state.target()
                .orElseThrow(() ->
                        new HoldfastException(Category.GONE, "there is no root " + name + " in graph " + graph.name()));
        giveUp(List.of(List.of(target)));
        while (!open.isEmpty()) {
            List<ValueId> some = new ArrayList<>(PAGE);
            while (!open.isEmpty() && some.size() < PAGE) {
                some.add(ids.id(open.pop()));
            }
            for (long size : graph.inspectionScripts().sizes(some)) {
                values++;
                bytes += size;
            }
            giveUp(givenUpBy(graph.reader().edgesOfAll(some)));
            progress.at("previewing", values, Math.max(values, ids.size()));
        }
        if (!root.read().version().equals(state.version())) {
            throw new HoldfastException(Category.RETRY, "root " + name + " moved on while it was looked at");
        }
        return new Preview(name, values, bytes, ids.size() - values);
    }

    /** What goes with each of these values, which leave their lines one after the other. */
    private List<List<ValueId>> givenUpBy(Map<ValueId, EdgeEntry> freed) {
        List<ValueId> unread = new ArrayList<>();
        for (EdgeEntry entry : freed.values()) {
            entry.neighbours().stream().filter(id -> !lines.containsKey(id)).forEach(unread::add);
        }
        if (!unread.isEmpty()) {
            lines.putAll(graph.reader().edgesOfAll(unread));
        }
        List<List<ValueId>> given = new ArrayList<>();
        freed.forEach((id, read) -> {
            EdgeEntry entry = lines.getOrDefault(id, read);
            EdgeEntry before = neighbour(entry.before());
            EdgeEntry after = neighbour(entry.after());
            if (entry.before() != null) {
                lines.put(entry.before(), new EdgeEntry(before.packed(), before.before(), entry.after()));
            }
            if (entry.after() != null) {
                lines.put(entry.after(), new EdgeEntry(after.packed(), entry.before(), after.after()));
            }
            given.add(EdgeEntry.givenUp(children(before), children(entry), children(after)));
        });
        return given;
    }

    private EdgeEntry neighbour(@Nullable ValueId id) {
        return id == null ? EdgeEntry.NONE : lines.getOrDefault(id, EdgeEntry.NONE);
    }

    private List<ValueId> children(EdgeEntry entry) {
        return graph.reader().unpack(entry.packed());
    }

    private void giveUp(Iterable<List<ValueId>> lists) {
        Set<Integer> touched = new LinkedHashSet<>();
        for (List<ValueId> list : lists) {
            for (ValueId child : list) {
                int id = ids.add(child);
                givenUp.add(id, 1);
                touched.add(id);
            }
        }
        readCounts(touched.stream().filter(id -> counts.get(id) == 0).toList());
        for (int id : touched) {
            if (givenUp.get(id) >= counts.get(id) - 1 && flags.set(id, FREED)) {
                open.push(id);
            }
        }
    }

    private void readCounts(List<Integer> unread) {
        for (int from = 0; from < unread.size(); from += PAGE) {
            List<Integer> some = unread.subList(from, Math.min(unread.size(), from + PAGE));
            List<byte @Nullable []> read = graph.shelves()
                    .getAll("counts", some.stream().map(ids::bytes).toList());
            for (int i = 0; i < some.size(); i++) {
                byte[] count = read.get(i);
                counts.set(some.get(i), 1 + (count == null ? 1 : holds(count)));
            }
        }
    }

    private static int holds(byte[] count) {
        String head = new String(count, StandardCharsets.ISO_8859_1).split("\\|", 2)[0];
        try {
            return Integer.parseInt(head);
        } catch (NumberFormatException e) {
            return Integer.MAX_VALUE - 1; // being built or draining: it is not this root's to free
        }
    }
}
