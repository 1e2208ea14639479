package io.holdfast.redis.graph.store;

import static io.holdfast.redis.graph.store.Store.ascii;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.link.Reply;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import redis.clients.jedis.Protocol.Command;

/**
 * Repairs a graph of which a call was torn: counts anew, from its roots and leases, who holds what, and erases what
 * nothing holds. Work that was queued is part of that, so the queue is empty afterwards.
 *
 * <p>Nobody else writes until it has ended, so it reads a graph that stands still: the scripts answer TORN, which
 * callers see as RETRY. If this client dies, another one begins anew. It takes memory for all places and children of
 * the graph.
 *
 * <p>What it cannot mend is reported: a root whose value is lost, and has been before too, ends; a child that is lost
 * stays named by its parent.
 */
public final class Recount {

    private static final int PAGE = 32;
    /** So many fields that one page has all of a segment's. */
    private static final String ALL_OF_A_SEGMENT = "10000";

    private static final int FIELDS_A_CALL = 1_000;

    /**
     * What was done.
     *
     * @param done false: nothing was torn, or another client is at it
     * @param lost what the server lost for good, in words
     */
    public record Report(boolean done, long values, long erased, List<String> lost) {}

    private final Store store;
    private final Map<String, SegmentData> segments = new TreeMap<>();
    private final Map<Place, Integer> holds = new HashMap<>();
    private final Map<String, Integer> outside = new HashMap<>();
    private final List<String> lost = new ArrayList<>();
    private long values;
    private long erased;

    public Recount(Store store) {
        this.store = store;
    }

    /** @param force also if no call was torn */
    public Report run(boolean force) {
        if (!store.mend(force ? "tear" : "begin", "", List.of(), List.of()).equals("OK")) {
            return new Report(false, 0, 0, List.of());
        }
        readWhole();
        readPacked();
        reach(rootsAndLeases());
        segments.values().forEach(this::write);
        enterContent();
        mend("end", "", List.of(), List.of(ascii(Long.toString(values))));
        return new Report(true, values, erased, List.copyOf(lost));
    }

    private void mend(String what, String name, List<String> parts, List<byte[]> data) {
        String status = store.mend(what, name, parts, data);
        if (!status.equals("OK")) {
            throw new HoldfastException(
                    Category.RETRY, "the repair of the graph took too long, and another client began anew: " + status);
        }
    }

    private void readWhole() {
        List<String> names = texts(store.command(Command.ZRANGE, "segments", "0", "-1"));
        for (int from = 0; from < names.size(); from += PAGE) {
            List<String> page = names.subList(from, Math.min(names.size(), from + PAGE));
            List<Reply> bytes = store.commands(Command.LRANGE, keys("v:", page), "0", "-1");
            List<Reply> edges = store.commands(Command.HSCAN, keys("e:", page), "0", "COUNT", ALL_OF_A_SEGMENT);
            List<Reply> counts = store.commands(Command.GET, keys("c:", page));
            List<Reply> content = store.commands(Command.GET, keys("h:", page));
            for (int i = 0; i < page.size(); i++) {
                segments.put(
                        page.get(i),
                        SegmentData.whole(page.get(i), bytes.get(i), edges.get(i), counts.get(i), content.get(i)));
            }
        }
    }

    /** A segment in both forms was being packed: the packed one is complete, as it is written at once. */
    private void readPacked() {
        store.scan("small", (name, packed) -> segments.put(name, SegmentData.packed(name, packed.bytes())));
    }

    private static List<String> keys(String part, List<String> names) {
        return names.stream().map(name -> part + name).toList();
    }

    private Optional<SegmentData.Value> value(Place place) {
        SegmentData segment = segments.get(place.segment());
        return segment == null
                ? Optional.empty()
                : Optional.ofNullable(segment.values().get(place.value()));
    }

    private Deque<Place> rootsAndLeases() {
        Deque<Place> open = new ArrayDeque<>();
        store.scan(
                "roots",
                (name, record) -> mendedRoot(name, record.text()).ifPresent(target -> hold(target, true, open)));
        for (String lease : texts(store.command(Command.ZRANGE, "leases", "0", "-1"))) {
            List<byte[]> gone = new ArrayList<>();
            for (String field : texts(store.command(Command.HKEYS, "lease:" + lease))) {
                if (field.length() > Place.SEGMENT_LENGTH && field.charAt(Place.SEGMENT_LENGTH) == '.') {
                    Place place = Place.parse(field);
                    if (value(place).isPresent()) {
                        hold(place, true, open);
                    } else {
                        gone.add(ascii(field));
                        lost.add("value " + field + ", held by lease " + lease);
                    }
                }
            }
            if (!gone.isEmpty()) {
                mend("release", "", List.of("lease:" + lease), gone);
            }
        }
        return open;
    }

    /** What a root names from now on: if it was torn away from its value, that value again. */
    private Optional<Place> mendedRoot(String name, String record) {
        String[] parts = record.split(" ", 4);
        Place target = Place.parse(parts[1]);
        if (value(target).isPresent()) {
            return Optional.of(target);
        }
        if (!parts[2].equals("-") && value(Place.parse(parts[2])).isPresent()) {
            String back = parts[0] + "b " + parts[2] + " - " + parts[3];
            mend("root", name, List.of(), List.of(back.getBytes(UTF_8)));
            return Optional.of(Place.parse(parts[2]));
        }
        lost.add("value " + target + ", named by root " + name);
        mend("root", name, List.of(), List.of());
        return Optional.empty();
    }

    private void hold(Place place, boolean fromOutside, Deque<Place> open) {
        if (holds.merge(place, 1, Integer::sum) == 1) {
            open.add(place);
        }
        if (fromOutside) {
            outside.merge(place.segment(), 1, Integer::sum);
        }
    }

    private void reach(Deque<Place> open) {
        while (!open.isEmpty()) {
            Place parent = open.removeLast();
            for (Place child : value(parent).orElseThrow().children()) {
                if (value(child).isPresent()) {
                    hold(child, !child.segment().equals(parent.segment()), open);
                } else {
                    lost.add("value " + child + ", child of " + parent);
                }
            }
        }
    }

    private void write(SegmentData segment) {
        List<String> keys =
                Store.WHOLE.stream().map(part -> part + ':' + segment.name()).toList();
        Set<Integer> left = new TreeSet<>();
        for (int value : segment.values().keySet()) {
            if (holds.containsKey(new Place(segment.name(), value))) {
                left.add(value);
            }
        }
        values += left.size();
        erased += segment.values().size() - left.size();
        if (left.isEmpty()) {
            mend("erase", segment.name(), keys, List.of());
        } else if (segment.whole()) {
            mend("whole", segment.name(), keys, whole(segment, left));
        } else {
            mend("packed", segment.name(), keys, List.of(packed(segment, left)));
        }
    }

    private int outsideOf(SegmentData segment) {
        return outside.getOrDefault(segment.name(), 0);
    }

    private int holdsOn(SegmentData segment, int value) {
        return holds.getOrDefault(new Place(segment.name(), value), 0);
    }

    private List<byte[]> whole(SegmentData segment, Set<Integer> left) {
        int highest =
                segment.values().keySet().stream().mapToInt(it -> it).max().orElseThrow();
        ByteBuffer counts = ByteBuffer.allocate(4 * (highest + 1));
        counts.putInt(outsideOf(segment)).putInt(left.size());
        left.forEach(value -> counts.putInt(4 * value, holdsOn(segment, value)));
        List<byte[]> data = new ArrayList<>(List.of(counts.array()));
        Set<Integer> gone = new HashSet<>(segment.values().keySet());
        gone.removeAll(left);
        gone.forEach(value -> data.add(ascii(Integer.toString(value))));
        return data;
    }

    private byte[] packed(SegmentData segment, Set<Integer> left) {
        List<Packed.Entry> entries = new ArrayList<>();
        segment.values().forEach((value, it) -> {
            if (left.contains(value)) {
                int held = holdsOn(segment, value);
                entries.add(new Packed.Entry(value, held, it.childrenText(), it.bytes(), it.content()));
            }
        });
        return new Packed(outsideOf(segment), entries).encode();
    }

    private void enterContent() {
        List<byte[]> fields = new ArrayList<>();
        for (Place place : holds.keySet()) {
            byte[] content = value(place).orElseThrow().content();
            if (content.length > 0) {
                fields.add(content);
                fields.add(ascii(place.toString()));
            }
            if (fields.size() >= FIELDS_A_CALL) {
                mend("content", "", List.of(), fields);
                fields.clear();
            }
        }
        if (!fields.isEmpty()) {
            mend("content", "", List.of(), fields);
        }
    }

    private static List<String> texts(Reply reply) {
        return reply.parts().stream().map(Reply::text).toList();
    }
}
