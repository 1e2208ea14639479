package io.holdfast.redis.graph.store;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.holdfast.redis.link.Reply;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A segment as it was read, in either form.
 *
 * @param values what is not erased, by number
 */
record SegmentData(String name, boolean whole, Map<Integer, Value> values) {

    /** @param holds 0: it has ended */
    record Value(int holds, byte[] bytes, List<Place> children, String childrenText, byte[] content) {}

    private static final int CONTENT_LENGTH = 32;

    /** From the replies of LRANGE v, HSCAN e, GET c and GET h. */
    static SegmentData whole(String name, Reply bytes, Reply edges, Reply counts, Reply content) {
        Map<Integer, String> children = new TreeMap<>();
        Store.pairs(edges).forEach((value, text) -> children.put(Integer.valueOf(value), text.text()));
        byte[] holds = counts.bytesOrNull();
        byte[] shas = content.bytesOrNull();
        Map<Integer, Value> values = new TreeMap<>();
        int value = Place.FIRST;
        for (Reply part : bytes.parts()) {
            if (part.bytes().length > 0) {
                String text = children.getOrDefault(value, "");
                int at = 4 * value;
                int held = holds == null || at + 4 > holds.length
                        ? 0
                        : ByteBuffer.wrap(holds).getInt(at);
                values.put(value, new Value(held, part.bytes(), places(name, text), text, sha(shas, value)));
            }
            value++;
        }
        return new SegmentData(name, true, values);
    }

    private static byte[] sha(byte @Nullable [] shas, int value) {
        int from = CONTENT_LENGTH * (value - Place.FIRST);
        if (shas == null || from + CONTENT_LENGTH > shas.length) {
            return new byte[0];
        }
        byte[] sha = new byte[CONTENT_LENGTH];
        System.arraycopy(shas, from, sha, 0, CONTENT_LENGTH);
        return sha;
    }

    static SegmentData packed(String name, byte[] bytes) {
        Map<Integer, Value> values = new TreeMap<>();
        for (Packed.Entry entry : Packed.decode(bytes).entries()) {
            values.put(
                    entry.value(),
                    new Value(
                            entry.holds(),
                            entry.bytes(),
                            places(name, entry.children()),
                            entry.children(),
                            entry.content()));
        }
        return new SegmentData(name, false, values);
    }

    /** Children, from their text; {@code segment.lua} says how it is written. */
    static List<Place> places(String segment, String runs) {
        List<Place> places = new ArrayList<>();
        for (String run : runs.isEmpty() ? new String[0] : runs.split(" ")) {
            String[] parts = run.split("/");
            String of = parts.length == 1 ? segment : parts[0];
            for (String value : parts[parts.length - 1].split(",")) {
                places.add(new Place(of, Integer.parseInt(value)));
            }
        }
        return places;
    }

    static byte[] ascii(String text) {
        return text.getBytes(US_ASCII);
    }
}
