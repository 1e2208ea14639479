package io.holdfast.redis.graph;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What edges has of a value: its children, and its neighbours if it is in a line (lines.lua has the form and the rule).
 *
 * @param packed the ids of the children
 * @param before the value that this one was put after, or whoever took its place
 * @param after the one that was put after this one
 */
record EdgeEntry(
        byte[] packed, @Nullable ValueId before, @Nullable ValueId after) {

    private static final byte[] NOTHING = {};

    /** Of a value that is not there, or has no children. */
    static final EdgeEntry NONE = new EdgeEntry(NOTHING, null, null);

    static EdgeEntry read(byte[] entry, int width) {
        if (entry.length % width == 0) {
            return new EdgeEntry(entry, null, null);
        }
        int end = entry.length - 2 * width - 1;
        if (end < 0 || end % width != 0 || entry[entry.length - 1] != 1) {
            throw new IllegalArgumentException("an entry of " + entry.length + " bytes in edges");
        }
        return new EdgeEntry(
                Arrays.copyOf(entry, end), neighbour(entry, end, width), neighbour(entry, end + width, width));
    }

    private static @Nullable ValueId neighbour(byte[] entry, int at, int width) {
        for (int i = at; i < at + width; i++) {
            if (entry[i] != 0) {
                return ValueId.read(entry, at, width);
            }
        }
        return null;
    }

    List<ValueId> neighbours() {
        return Stream.of(before, after).flatMap(Stream::ofNullable).toList();
    }

    boolean isInLine() {
        return before != null || after != null;
    }

    byte[] write(int width) {
        if (!isInLine()) {
            return packed;
        }
        byte[] entry = Arrays.copyOf(packed, packed.length + 2 * width + 1);
        if (before != null) {
            System.arraycopy(before.raw(), 0, entry, packed.length, width);
        }
        if (after != null) {
            System.arraycopy(after.raw(), 0, entry, packed.length + width, width);
        }
        entry[entry.length - 1] = 1;
        return entry;
    }

    /** What a value holds by itself: its children less those of the one before it, as often as they are in either list. */
    static <I> List<I> ownChildren(List<I> children, List<I> before) {
        Map<I, Integer> shared = tally(before);
        List<I> own = new ArrayList<>();
        for (I child : children) {
            if (shared.merge(child, -1, Integer::sum) < 0) {
                own.add(child);
            }
        }
        return own;
    }

    /** What nobody of a line holds any longer when a value leaves it from between two others, each as often as it was held. */
    static <I> List<I> givenUp(List<I> before, List<I> leaving, List<I> after) {
        List<I> given = new ArrayList<>(ownChildren(leaving, before));
        given.addAll(ownChildren(after, leaving));
        Map<I, Integer> kept = tally(ownChildren(after, before));
        given.removeIf(child -> kept.merge(child, -1, Integer::sum) >= 0);
        return given;
    }

    private static <I> Map<I, Integer> tally(List<I> ids) {
        Map<I, Integer> numbers = new HashMap<>();
        ids.forEach(id -> numbers.merge(id, 1, Integer::sum));
        return numbers;
    }
}
