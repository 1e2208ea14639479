package io.holdfast.examples;

import io.holdfast.examples.Page.Child;
import io.holdfast.examples.Page.Inner;
import io.holdfast.examples.Page.Leaf;
import io.holdfast.redis.graph.GraphWriter;
import io.holdfast.redis.graph.Predecessor;
import io.holdfast.redis.graph.Root;
import io.holdfast.redis.graph.Snapshot;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A sorted map of text that keeps its history for as long as somebody reads it: a B-tree whose pages are values of a
 * graph. A change copies the pages from the top to one leaf and shares all others with the version before; then the root
 * moves on. Nobody deletes a page: an old version goes when the last snapshot of it is closed or lapses, and takes with
 * it exactly the pages that no other version has.
 *
 * <p>Any number of processes may change the same map: a change that lost the race is made again on the winner's version.
 */
public final class PersistentSortedMap {

    private final ValueGraph graph;
    private final Root root;

    public PersistentSortedMap(ValueGraph graph, String name) {
        this.graph = graph;
        this.root = graph.root(name);
    }

    public void put(String key, String value) {
        change(key, value);
    }

    public void remove(String key) {
        change(key, null);
    }

    /** The map as it is now; it stays so until the view is closed. Empty if nothing was ever put. */
    public Optional<View> view() {
        return root.target().map(any -> new View(graph.snapshot(root.name())));
    }

    private void change(String key, @Nullable String value) {
        while (true) {
            Root.State seen = root.read();
            if (seen.target().isEmpty()) {
                if (value == null || changed(seen, writer -> store(writer, Leaf.EMPTY.with(key, value)))) {
                    return;
                }
                continue;
            }
            try (Snapshot base = graph.snapshot(root.name())) {
                boolean unmoved = seen.target().get().equals(base.target());
                if (unmoved && changed(seen, writer -> new Change(base, writer, key, value).top())) {
                    return;
                }
            }
        }
    }

    /** Writes the pages of a new version. */
    private interface Writing {
        ValueId write(GraphWriter writer);
    }

    private boolean changed(Root.State seen, Writing writing) {
        // What is written here and is not under the root when the writer is closed goes by itself.
        try (GraphWriter writer = graph.writer()) {
            Optional<Snapshot> winner = root.compareAndSet(seen, writing.write(writer));
            winner.ifPresent(Snapshot::close);
            return winner.isEmpty();
        }
    }

    private static ValueId store(GraphWriter writer, Page page) {
        return writer.put(page.toBytes(), page.childIds());
    }

    private static Page load(Snapshot snapshot, ValueId id) {
        return Page.of(snapshot.get(id), snapshot.children(id));
    }

    /** A page of the version that is changed. */
    private record Old(ValueId id, Page page) {

        static Old load(Snapshot snapshot, ValueId id) {
            return new Old(id, PersistentSortedMap.load(snapshot, id));
        }

        /** What the page that takes its place shares with it is counted once for both. */
        ValueId replace(GraphWriter writer, Page page) {
            return writer.put(page.toBytes(), page.childIds(), new Predecessor(id, this.page.childIds()));
        }
    }

    /** One key put or removed: the new pages from a leaf up to the top. */
    private record Change(
            Snapshot base,
            GraphWriter writer,
            String key,
            @Nullable String value) {

        ValueId top() {
            Old old = Old.load(base, base.target());
            List<Page> pages = edit(old.page());
            if (pages.size() > 1) {
                return store(writer, new Inner(stored(pages, old)));
            }
            // A top page with a single child is one level too many.
            return pages.getFirst() instanceof Inner inner && inner.size() == 1
                    ? inner.children().getFirst().id()
                    : old.replace(writer, pages.getFirst());
        }

        /** What takes the place of a page: one page, or two halves of it; not stored yet. */
        private List<Page> edit(Page page) {
            return switch (page) {
                case Leaf leaf -> leaf.with(key, value).split();
                case Inner inner -> {
                    int at = inner.indexOf(key);
                    Old old = Old.load(base, inner.children().get(at).id());
                    List<Page> below = edit(old.page());
                    int from = at;
                    int to = at + 1;
                    if (below.size() == 1 && below.getFirst().isUnderfull() && inner.size() > 1) {
                        from = Math.max(0, at - 1);
                        to = from + 2;
                        Page neighbour = load(
                                base,
                                inner.children().get(from == at ? at + 1 : from).id());
                        Page left = from == at ? below.getFirst() : neighbour;
                        Page right = from == at ? neighbour : below.getFirst();
                        below = left.join(right).split();
                    }
                    yield inner.replace(from, to, stored(below, old)).split();
                }
            };
        }

        /** What takes the place of an old page; what is not the first of it are new pages. */
        private List<Child> stored(List<Page> pages, Old old) {
            List<Child> children = new ArrayList<>();
            for (Page page : pages) {
                ValueId id = children.isEmpty() ? old.replace(writer, page) : store(writer, page);
                children.add(new Child(page.first(), id));
            }
            return children;
        }
    }

    /** One version of the map. It renews its hold until it is closed. */
    public static final class View implements AutoCloseable {

        private final Snapshot snapshot;

        private View(Snapshot snapshot) {
            this.snapshot = snapshot;
        }

        public Optional<String> get(String key) {
            Page page = load(snapshot, snapshot.target());
            while (page instanceof Inner inner) {
                page = load(snapshot, inner.children().get(inner.indexOf(key)).id());
            }
            return Optional.ofNullable(((Leaf) page).entries().get(key));
        }

        /** The entries from one key up to, and without, another. */
        public NavigableMap<String, String> range(String from, String to) {
            NavigableMap<String, String> found = new TreeMap<>();
            collect(snapshot.target(), from, to, found);
            return found;
        }

        private void collect(ValueId id, String from, String to, NavigableMap<String, String> found) {
            switch (load(snapshot, id)) {
                case Leaf leaf -> found.putAll(leaf.entries().subMap(from, to));
                case Inner inner -> {
                    for (int i = inner.indexOf(from); i < inner.size(); i++) {
                        if (i > 0 && inner.children().get(i).first().compareTo(to) >= 0) {
                            break;
                        }
                        collect(inner.children().get(i).id(), from, to, found);
                    }
                }
            }
        }

        /** The pages of this version. */
        public List<ValueId> pages() {
            return snapshot.walk().toList();
        }

        @Override
        public void close() {
            snapshot.close();
        }
    }
}
