package io.holdfast.redis.graph.store;

import io.holdfast.HoldfastException;
import java.util.regex.Pattern;

/**
 * Where a value is: the segment that it was put with, and its number there. It is never used for another value.
 *
 * @param segment 16 digits of base 32 in order of time
 * @param value from 2 to 257
 */
public record Place(String segment, int value) implements Comparable<Place> {

    static final int FIRST = 2;
    static final int SEGMENT_LENGTH = 16;
    private static final Pattern TEXT = Pattern.compile("([0-9A-V]{16})\\.([1-9][0-9]{0,2})");

    /** Reads the text form. */
    public static Place parse(String text) {
        var parts = TEXT.matcher(text);
        if (!parts.matches()) {
            throw HoldfastException.misuse(
                    "'" + text + "' is not the id of a value",
                    "give it as it is printed: 16 digits or A to V, dot, number");
        }
        return new Place(parts.group(1), Integer.parseInt(parts.group(2)));
    }

    @Override
    public int compareTo(Place other) {
        int segments = segment.compareTo(other.segment);
        return segments != 0 ? segments : Integer.compare(value, other.value);
    }

    /** The text form: {@code SEGMENT.VALUE}, as the scripts know it. */
    @Override
    public String toString() {
        return segment + '.' + value;
    }
}
