package io.holdfast.redis.graph.read;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.graph.store.GraphContext;
import io.holdfast.redis.graph.store.Node;
import io.holdfast.redis.graph.store.Place;
import io.holdfast.redis.graph.store.StoredNode;
import java.io.ByteArrayOutputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;

/**
 * Reads values, in pages of {@value #PAGE} nodes. Large ones come whole again, and their inner nodes are never shown.
 *
 * <p>A value that is read without a hold may end meanwhile: then it is not there. Takes no writer's lock unless a value
 * is asked for that the writer has not put yet.
 */
public final class Reader {

    private static final int PAGE = 128;

    /** A value and its children. */
    public record Value(byte[] bytes, List<Place> children) {}

    private final GraphContext graph;

    public Reader(GraphContext graph) {
        this.graph = graph;
    }

    /** @throws HoldfastException GONE if it is not there */
    public Value get(Place place) {
        return find(place)
                .orElseThrow(() ->
                        new HoldfastException(Category.GONE, "value " + place + " is unknown or already reclaimed"));
    }

    /** A value, or empty if it is not there: also if it ended while it was read. */
    public Optional<Value> find(Place place) {
        return Optional.ofNullable(findAll(List.of(place)).get(place));
    }

    /** Those of the values that are there. */
    public Map<Place, Value> findAll(List<Place> places) {
        places.forEach(graph::send);
        Map<Place, Value> found = new LinkedHashMap<>();
        for (int from = 0; from < places.size(); from += PAGE) {
            List<Place> page = places.subList(from, Math.min(places.size(), from + PAGE));
            Map<Place, StoredNode> nodes = graph.store().nodes(page);
            for (Place place : page) {
                StoredNode node = nodes.get(place);
                if (node != null) {
                    whole(node).ifPresent(value -> found.put(place, value));
                }
            }
        }
        return found;
    }

    private Optional<Value> whole(StoredNode stored) {
        Node node = Node.read(stored.bytes());
        if (node.kind() == Node.PLAIN) {
            return Optional.of(new Value(node.bytes(), stored.children()));
        }
        if (node.kind() != Node.TOP) {
            return Optional.empty(); // an inner node, which has no id
        }
        List<Place> parts = stored.children().subList(0, node.parts());
        List<Place> lists =
                stored.children().subList(node.parts(), stored.children().size());
        try {
            List<Place> children = below(lists, node.listDepth());
            if (node.parts() == 0) {
                return Optional.of(new Value(node.bytes(), children));
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream((int) node.length());
            List<Place> chunks = below(parts, node.partDepth());
            for (int from = 0; from < chunks.size(); from += PAGE / 8) {
                List<Place> page = chunks.subList(from, Math.min(chunks.size(), from + PAGE / 8));
                all(page)
                        .forEach(chunk ->
                                bytes.writeBytes(Node.read(chunk.bytes()).bytes()));
            }
            return Optional.of(new Value(bytes.toByteArray(), children));
        } catch (HoldfastException e) {
            if (e.category() == Category.GONE) {
                return Optional.empty();
            }
            throw e;
        }
    }

    /** What is so many lists below these nodes. */
    private List<Place> below(List<Place> nodes, int depth) {
        List<Place> level = nodes;
        for (int i = 0; i < depth; i++) {
            List<Place> next = new ArrayList<>();
            for (int from = 0; from < level.size(); from += PAGE) {
                List<Place> page = level.subList(from, Math.min(level.size(), from + PAGE));
                all(page).forEach(list -> next.addAll(list.children()));
            }
            level = next;
        }
        return level;
    }

    private List<StoredNode> all(List<Place> page) {
        Map<Place, StoredNode> found = graph.store().nodes(page);
        List<StoredNode> nodes = new ArrayList<>();
        for (Place place : page) {
            StoredNode node = found.get(place);
            if (node == null) {
                throw new HoldfastException(Category.GONE, "a large value was reclaimed while it was read");
            }
            nodes.add(node);
        }
        return nodes;
    }

    /**
     * Shows all values below and including a target, parents before the children that they lead to, each once.
     *
     * @param shown is given a place and the value there
     * @param check is called between pages; it throws to end the walk
     */
    public void walk(Place target, BiConsumer<Place, Value> shown, Runnable check) {
        Set<Place> seen = new HashSet<>(Set.of(target));
        Deque<Place> open = new ArrayDeque<>(List.of(target));
        while (!open.isEmpty()) {
            List<Place> page = new ArrayList<>();
            while (!open.isEmpty() && page.size() < PAGE) {
                page.add(open.removeLast());
            }
            Map<Place, Value> values = findAll(page);
            check.run();
            for (Place place : page) {
                Value value = values.get(place);
                if (value == null) {
                    throw new HoldfastException(Category.GONE, "value " + place + " is unknown or already reclaimed");
                }
                shown.accept(place, value);
                value.children().stream().filter(seen::add).forEach(open::add);
            }
        }
    }
}
