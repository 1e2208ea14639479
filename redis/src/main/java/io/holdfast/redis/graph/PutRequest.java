package io.holdfast.redis.graph;

import io.holdfast.redis.graph.GraphWriter.Pending;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A batch of values as put.lua takes it. The client counts what it can: a value of the batch is held by the values of
 * the batch that name it, and by the writer if none does. Only children outside the batch are for the server to check.
 *
 * @param head the arguments between the sequence and the lists
 * @param values id and bytes of the new values
 * @param lists id and packed children of those that have some
 * @param tops values of the batch that the writer holds afterwards
 * @param handed values that the writer held and does not hold afterwards
 */
record PutRequest(
        List<byte[]> head, List<byte[]> values, List<byte[]> lists, List<ValueId> tops, List<ValueId> handed) {

    /**
     * @param batch in the order of putting, so that children come before their parents
     * @param present those of the batch that the store has already: they get holds, but are not written, and what they
     *     hold they hold already
     * @param mine what the writer holds
     */
    static PutRequest of(Map<ValueId, Pending> batch, Set<ValueId> present, Set<ValueId> mine) {
        Edges edges = Edges.of(batch, present);
        List<ValueId> handed =
                edges.outside().keySet().stream().filter(mine::contains).toList();
        Map<ValueId, Integer> adopted = new LinkedHashMap<>(edges.outside());
        handed.forEach(child -> adopted.merge(child, -1, PutRequest::sumOrNone));

        Map<ValueId, Integer> shared = new LinkedHashMap<>();
        Map<ValueId, Integer> back = new LinkedHashMap<>();
        List<ValueId> tops = new ArrayList<>();
        List<ValueId> backTops = new ArrayList<>();
        List<ValueId> fresh = new ArrayList<>(batch.size());
        List<byte[]> values = new ArrayList<>(2 * batch.size());
        List<byte[]> lists = new ArrayList<>();
        batch.forEach((id, value) -> {
            int holds = edges.inside().getOrDefault(id, 0);
            boolean top = !edges.named().contains(id);
            if (present.contains(id)) {
                if (top || holds > 0) {
                    back.put(id, holds);
                }
                if (top) {
                    backTops.add(id);
                }
                return;
            }
            if (top || holds == 0) {
                tops.add(id);
                holds++;
            }
            if (holds != 1 || !value.isSmall()) {
                shared.put(id, holds);
            }
            fresh.add(id);
            values.add(id.raw());
            values.add(value.bytes());
            if (!value.children().isEmpty()) {
                lists.add(id.raw());
                lists.add(pack(value.children()));
            }
        });
        // Only an id that is made from content can be known to the server already.
        boolean lookUp = fresh.stream().anyMatch(id -> id.width() == ValueId.CONTENT);
        Counted entries = Counted.of(shared);
        Counted raised = Counted.of(adopted);
        List<byte[]> head = List.of(
                GraphScripts.number(edges.written()),
                entries.packed(),
                entries.several(),
                raised.packed(),
                raised.several(),
                pack(handed),
                pack(tops),
                pack(back.keySet()),
                words(back.values()),
                pack(backTops),
                pack(lookUp ? fresh : List.of()),
                GraphScripts.number(fresh.isEmpty() ? 0 : 1));
        List<ValueId> allTops = new ArrayList<>(tops);
        allTops.addAll(backTops);
        return new PutRequest(head, values, lists, allTops, handed);
    }

    /**
     * Ids with numbers, most of which are one.
     *
     * @param packed the ids, those with another number first
     * @param several the numbers that are not one
     */
    private record Counted(byte[] packed, byte[] several) {

        static Counted of(Map<ValueId, Integer> numbers) {
            List<ValueId> several = new ArrayList<>();
            List<ValueId> once = new ArrayList<>();
            numbers.forEach((id, number) -> (number == 1 ? once : several).add(id));
            byte[] words = words(several.stream().map(numbers::get).toList());
            several.addAll(once);
            return new Counted(pack(several), words);
        }
    }

    /**
     * The edges of a batch, counted by child.
     *
     * @param inside from values that will be written to values of the batch
     * @param outside from values that will be written to values outside the batch
     * @param named values of the batch that any value of the batch names
     * @param written how many edges will be written
     */
    private record Edges(Map<ValueId, Integer> inside, Map<ValueId, Integer> outside, Set<ValueId> named, int written) {

        static Edges of(Map<ValueId, Pending> batch, Set<ValueId> present) {
            Map<ValueId, Integer> inside = new HashMap<>();
            Map<ValueId, Integer> outside = new LinkedHashMap<>();
            Set<ValueId> named = new HashSet<>();
            int written = 0;
            for (Map.Entry<ValueId, Pending> entry : batch.entrySet()) {
                boolean write = !present.contains(entry.getKey());
                for (ValueId child : entry.getValue().children()) {
                    boolean isInside = batch.containsKey(child);
                    if (isInside) {
                        named.add(child);
                    }
                    if (write) {
                        written++;
                        (isInside ? inside : outside).merge(child, 1, Integer::sum);
                    }
                }
            }
            return new Edges(inside, outside, named, written);
        }
    }

    @SuppressWarnings("NullAway") // a merge function answers null to remove the entry
    private static Integer sumOrNone(Integer a, Integer b) {
        return a + b == 0 ? null : Integer.valueOf(a + b);
    }

    static byte[] pack(Collection<ValueId> ids) {
        ByteArrayOutputStream packed = new ByteArrayOutputStream(ids.size() * ValueId.CONTENT);
        for (ValueId id : ids) {
            packed.writeBytes(id.raw());
        }
        return packed.toByteArray();
    }

    static List<ValueId> unpack(byte[] packed, int width) {
        List<ValueId> ids = new ArrayList<>(packed.length / width);
        for (int at = 0; at + width <= packed.length; at += width) {
            ids.add(ValueId.read(packed, at, width));
        }
        return ids;
    }

    static byte[] words(Collection<Integer> numbers) {
        return GraphScripts.ascii(numbers.stream().map(String::valueOf).collect(Collectors.joining(" ")));
    }
}
