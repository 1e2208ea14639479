package io.holdfast.redis.graph.write;

import io.holdfast.redis.graph.store.Node;
import io.holdfast.redis.graph.store.Place;
import java.util.ArrayList;
import java.util.List;

/** Puts values of any size and any number of children, as trees of nodes where they are large. */
public final class Splitter {

    private Splitter() {}

    /** The id of the value: of its only node, or of the top. */
    public static Place put(Writer writer, byte[] value, List<Place> children) {
        boolean large = value.length > Node.CHUNK_BYTES;
        if (!large && children.size() <= Node.LIST_MAX) {
            return writer.put(Node.of(Node.PLAIN, value, 0, value.length), children);
        }
        List<Place> parts = new ArrayList<>();
        for (int from = 0; large && from < value.length; from += Node.CHUNK_BYTES) {
            int to = Math.min(value.length, from + Node.CHUNK_BYTES);
            parts.add(writer.put(Node.of(Node.CHUNK, value, from, to), List.of()));
        }
        List<Place> lists = new ArrayList<>(children);
        int partDepth = shorten(writer, parts, Node.LIST_MAX / 2);
        int listDepth = shorten(writer, lists, Node.LIST_MAX - parts.size());
        byte[] top = Node.top(value.length, parts.size(), partDepth, listDepth, large ? new byte[0] : value);
        parts.addAll(lists);
        return writer.put(top, parts);
    }

    /** Puts lists above nodes until at most so many are left; answers how many lists are above each other. */
    private static int shorten(Writer writer, List<Place> nodes, int most) {
        int depth = 0;
        while (nodes.size() > most) {
            List<Place> shorter = new ArrayList<>();
            for (int from = 0; from < nodes.size(); from += Node.LIST_MAX) {
                List<Place> page = List.copyOf(nodes.subList(from, Math.min(nodes.size(), from + Node.LIST_MAX)));
                shorter.add(writer.put(new byte[] {Node.LIST}, page));
            }
            nodes.clear();
            nodes.addAll(shorter);
            depth++;
        }
        return depth;
    }
}
