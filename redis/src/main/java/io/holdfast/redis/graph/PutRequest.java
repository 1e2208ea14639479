package io.holdfast.redis.graph;

import io.holdfast.redis.graph.GraphWriter.Pending;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
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
 * @param ids the values of the batch
 * @param head the arguments between the sequence and the lists
 * @param values id and bytes of the new values
 * @param befores values outside the batch that values of it go after in their lines, by shelf
 * @param lists id and entry in edges of those that have children; first those that go after one of the befores
 * @param tops values of the batch that the writer holds afterwards
 * @param handed values that the writer held and does not hold afterwards
 */
record PutRequest(
        Set<ValueId> ids,
        List<byte[]> head,
        List<byte[]> values,
        List<Replaced> befores,
        List<byte[]> lists,
        List<ValueId> tops,
        List<ValueId> handed) {

    static final int FEW_VALUES = 16;
    static final int FEW_BYTES = 2 << 10;

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
        Lists lists = Lists.of(batch, present);
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
            if (holds != 1 || !value.isLeaf()) {
                shared.put(id, holds);
            }
            if (!fresh.isEmpty() && !Shelves.areTogether(id, fresh.getFirst())) {
                throw new IllegalStateException("values of a batch on two shelves: " + id + ", " + fresh.getFirst());
            }
            fresh.add(id);
            values.add(id.raw());
            values.add(value.bytes());
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
                isFew(values) ? new byte[0] : values.getFirst());
        List<ValueId> allTops = new ArrayList<>(tops);
        allTops.addAll(backTops);
        return new PutRequest(Set.copyOf(batch.keySet()), head, values, lists.befores(), lists.all(), allTops, handed);
    }

    /**
     * What put.lua takes between the change and the end: who goes after whom, few values, and the entries of edges.
     *
     * @param rootChanges whether a root changes with the batch, which may end those that go before
     */
    List<byte[]> tail(boolean rootChanges) {
        List<byte[]> tail = new ArrayList<>(2 + 2 * befores.size() + lists.size());
        tail.add(
                pack(befores.stream().map(Replaced::before).map(Predecessor::id).toList()));
        tail.add(GraphScripts.number(isFew(values) ? values.size() / 2 : 0));
        for (Replaced one : befores) {
            tail.add(pack(one.before().children()));
            if (rootChanges) {
                tail.add(pack(EdgeEntry.ownChildren(one.before().children(), one.children())));
            }
        }
        tail.addAll(isFew(values) ? values : List.of());
        tail.addAll(lists);
        return tail;
    }

    /** What stands beside put.lua in a transaction: the values, unless they are few. */
    List<byte[]> beside() {
        return isFew(values) ? List.of() : values;
    }

    /** Whether values pass through the script: a transaction around it would cost more. */
    private static boolean isFew(List<byte[]> values) {
        return values.size() <= 2 * FEW_VALUES
                && values.stream().mapToInt(bytes -> bytes.length).sum() <= FEW_BYTES;
    }

    /** A value in the store, and the children of the one that is put after it. */
    record Replaced(Predecessor before, List<ValueId> children) {}

    /** The entries that a batch writes to edges: first of those that go after values in the store, by the shelves of these. */
    private record Lists(List<Replaced> befores, List<byte[]> all) {

        static Lists of(Map<ValueId, Pending> batch, Set<ValueId> present) {
            Map<ValueId, ValueId> after = new HashMap<>();
            batch.forEach((id, value) -> {
                if (value.before() != null) {
                    after.put(value.before().id(), id);
                }
            });
            List<Replaced> befores = new ArrayList<>();
            List<byte[]> lists = new ArrayList<>();
            batch.entrySet().stream()
                    .filter(one -> !present.contains(one.getKey())
                            && !one.getValue().children().isEmpty())
                    .sorted(Comparator.comparingInt(one -> shelfBefore(one.getValue(), batch)))
                    .forEach(one -> {
                        ValueId id = one.getKey();
                        Pending value = one.getValue();
                        Predecessor before = value.before();
                        if (before != null && !batch.containsKey(before.id())) {
                            befores.add(new Replaced(before, value.children()));
                        }
                        EdgeEntry entry = new EdgeEntry(
                                pack(value.children()), before == null ? null : before.id(), after.get(id));
                        lists.add(id.raw());
                        lists.add(entry.write(id.width()));
                    });
            return new Lists(befores, lists);
        }

        /** The shelf of the one before, if that is in the store; of any other a number behind those. */
        private static int shelfBefore(Pending value, Map<ValueId, Pending> batch) {
            Predecessor before = value.before();
            return before == null || batch.containsKey(before.id()) ? Shelves.COUNT : Shelves.of(before.id());
        }
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
     * @param inside from values that will be written to values of the batch; without what the one before has as well
     * @param outside the same to values outside the batch
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
                Pending value = entry.getValue();
                value.children().stream().filter(batch::containsKey).forEach(named::add);
                if (present.contains(entry.getKey())) {
                    continue;
                }
                written += value.children().size();
                for (ValueId child : value.ownChildren()) {
                    (batch.containsKey(child) ? inside : outside).merge(child, 1, Integer::sum);
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
