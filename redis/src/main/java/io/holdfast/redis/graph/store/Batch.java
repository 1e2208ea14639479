package io.holdfast.redis.graph.store;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * New values that are put by one call: a segment. It counts what they hold of each other, sorts their other children
 * into those that the lease hands over and those that are held once more, and says which values the lease holds
 * afterwards: those that have no parent here.
 *
 * <p>Not thread-safe.
 */
public final class Batch {

    /** A segment is full at so many values, so many children, or children in so many other segments. */
    public static final int VALUES_MAX = 256;

    public static final int CHILDREN_MAX = 1_000;
    public static final int SEGMENTS_MAX = 200;

    private static final int PACKED_VALUES = 24;
    private static final int PACKED_BYTES = 2_048;

    /** @param bytes empty: a value that was taken out */
    private record Added(byte[] bytes, List<Place> places, String children, byte[] content) {

        boolean isHole() {
            return bytes.length == 0;
        }
    }

    private final String segment;
    private final List<Added> values = new ArrayList<>();
    private final List<Integer> holds = new ArrayList<>();
    /**
     * Children in other segments: those that the lease hands over, and for each segment how often its values are held.
     */
    private final Set<Place> handed = new TreeSet<>();

    private final Map<String, StringBuilder> adopted = new TreeMap<>();
    private final SortedSet<Place> taken = new TreeSet<>();
    private int children;
    private int bytes;

    public Batch(String segment) {
        this.segment = segment;
    }

    public String segment() {
        return segment;
    }

    public int size() {
        return values.size();
    }

    public int bytes() {
        return bytes;
    }

    /** Lets the lease hold a value that is there already, and that it does not hold or that this batch hands over. */
    public void take(Place place) {
        if (!handed.remove(place)) { // otherwise the lease keeps its hold, and the parent gets another
            taken.add(place);
        }
        adopt(place);
    }

    private void adopt(Place place) {
        adopted.computeIfAbsent(place.segment(), it -> new StringBuilder())
                .append(place.value())
                .append(',');
    }

    /** Whether another value with these children goes with those that are there. */
    public boolean takes(List<Place> moreChildren) {
        return values.size() < VALUES_MAX
                && children + moreChildren.size() <= CHILDREN_MAX
                && adopted.size() + newSegments(moreChildren) <= SEGMENTS_MAX;
    }

    /** Of how many further segments values are held, if these are children and none is handed over. */
    private long newSegments(List<Place> moreChildren) {
        return moreChildren.stream()
                .map(Place::segment)
                .filter(of -> !of.equals(segment) && !adopted.containsKey(of))
                .distinct()
                .count();
    }

    /**
     * Adds a value.
     *
     * @param value its kind and bytes; not empty
     * @param content its content id; empty without content addressing
     * @param held what the lease holds: children among it are handed over, and taken out of it
     */
    public Place add(byte[] value, List<Place> childPlaces, byte[] content, Set<Place> held) {
        for (Place child : childPlaces) {
            if (child.segment().equals(segment)) {
                holds.set(child.value() - Place.FIRST, holds.get(child.value() - Place.FIRST) + 1);
            } else if (held.remove(child)) {
                handed.add(child);
            } else {
                adopt(child);
            }
        }
        values.add(new Added(value, List.copyOf(childPlaces), runs(childPlaces), content));
        holds.add(0);
        children += childPlaces.size();
        bytes += value.length;
        return new Place(segment, values.size() - 1 + Place.FIRST);
    }

    /** Children as {@code segment.lua} knows them. */
    private String runs(List<Place> childPlaces) {
        StringBuilder runs = new StringBuilder();
        int at = 0;
        while (at < childPlaces.size()) {
            String of = childPlaces.get(at).segment();
            int end = at;
            StringBuilder run = new StringBuilder();
            while (end < childPlaces.size() && childPlaces.get(end).segment().equals(of)) {
                run.append(end == at ? "" : ",").append(childPlaces.get(end).value());
                end++;
            }
            runs.append(at == 0 ? "" : " ");
            runs.append(of.equals(segment) ? "" : of + '/' + (end - at) + '/').append(run);
            at = end;
        }
        return runs.toString();
    }

    /** The values that no other one here holds. */
    public SortedSet<Place> tops() {
        SortedSet<Place> tops = new TreeSet<>();
        for (int i = 0; i < holds.size(); i++) {
            if (holds.get(i) == 0 && !values.get(i).isHole()) {
                tops.add(new Place(segment, i + Place.FIRST));
            }
        }
        return tops;
    }

    public Set<Place> handed() {
        return handed;
    }

    /**
     * The same batch without the values that need something that is not there. The others keep their places.
     *
     * @param missing what is not there; the values that are left out are added to it
     * @param held what the lease holds, as for {@link #add}; what this batch would have handed over is among it again
     */
    public Batch without(Set<Place> missing, Set<Place> held) {
        held.addAll(handed);
        Batch rest = new Batch(segment);
        for (Added value : values) {
            if (value.isHole() || value.places().stream().anyMatch(missing::contains)) {
                missing.add(new Place(segment, rest.values.size() + Place.FIRST));
                rest.values.add(new Added(new byte[0], List.of(), "", value.content()));
                rest.holds.add(0);
            } else {
                rest.add(value.bytes(), value.places(), value.content(), held);
            }
        }
        taken.stream().filter(place -> !missing.contains(place)).forEach(rest::take);
        return rest;
    }

    /** Whether it has a value at all. */
    public boolean isEmpty() {
        return values.stream().allMatch(Added::isHole) && taken.isEmpty();
    }

    private int count() {
        return (int) values.stream().filter(value -> !value.isHole()).count();
    }

    List<String> adoptedSegments() {
        return List.copyOf(adopted.keySet());
    }

    boolean isPacked() {
        return count() > 0 && values.size() <= PACKED_VALUES && bytes <= PACKED_BYTES;
    }

    /** The part of the arguments of put.lua that says what is put. */
    List<byte[]> head(SortedSet<Place> tops) {
        boolean packed = isPacked();
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        values.forEach(value -> content.writeBytes(value.content()));
        return List.of(
                ascii(segment),
                number(count()),
                packed || count() == 0 ? new byte[0] : counts(tops),
                packed ? packed(tops).encode() : new byte[0],
                content.toByteArray(),
                number(tops.size() + taken.size()),
                number(handed.size()),
                number(adopted.size()),
                number(
                        packed
                                ? 0
                                : values.stream()
                                        .filter(value -> !value.children().isEmpty())
                                        .count()));
    }

    /** The lists that follow. */
    List<byte[]> lists(SortedSet<Place> tops) {
        List<byte[]> lists = new ArrayList<>();
        tops.forEach(top -> lists.add(ascii(top.toString())));
        taken.forEach(place -> lists.add(ascii(place.toString())));
        handed.forEach(child -> lists.add(ascii(child.toString())));
        adopted.values().forEach(list -> lists.add(ascii(list.toString())));
        if (!isPacked()) {
            for (int i = 0; i < values.size(); i++) {
                if (!values.get(i).children().isEmpty()) {
                    lists.add(number(i + Place.FIRST));
                    lists.add(ascii(values.get(i).children()));
                }
            }
            values.forEach(value -> lists.add(value.bytes()));
        }
        return lists;
    }

    private int holdsOn(int i, SortedSet<Place> tops) {
        return holds.get(i) + (tops.contains(new Place(segment, i + Place.FIRST)) ? 1 : 0);
    }

    private byte[] counts(SortedSet<Place> tops) {
        ByteBuffer counts = ByteBuffer.allocate(4 * (values.size() + Place.FIRST));
        counts.putInt(tops.size()).putInt(count());
        for (int i = 0; i < values.size(); i++) {
            counts.putInt(holdsOn(i, tops));
        }
        return counts.array();
    }

    private Packed packed(SortedSet<Place> tops) {
        List<Packed.Entry> entries = new ArrayList<>();
        for (int i = 0; i < values.size(); i++) {
            Added value = values.get(i);
            if (value.isHole()) {
                continue;
            }
            entries.add(new Packed.Entry(
                    i + Place.FIRST, holdsOn(i, tops), value.children(), value.bytes(), value.content()));
        }
        return new Packed(tops.size(), entries);
    }

    private static byte[] ascii(String text) {
        return text.getBytes(US_ASCII);
    }

    private static byte[] number(long number) {
        return ascii(Long.toString(number));
    }
}
