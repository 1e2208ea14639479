package io.holdfast.redis.graph;

import io.holdfast.redis.link.Reply;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol.Command;

/**
 * The shelves of a graph: its values, counts and edges are each kept in several hashes, so that none of them grows large and
 * what was put together stays together (shelves.lua says why). A byte of its id says on which shelf a value is, and whether it
 * is a leaf: small and without children. Leaves have their counts apart from the others of their shelf. Ids that are made from
 * content have no such byte, and are all on one.
 */
final class Shelves {

    static final int COUNT = 64;
    /** Added to the shelf in the id of a leaf. */
    static final int LEAF = 64;
    /** The byte of an id that says it: the one behind the time. */
    static final int AT = 6;

    private static final String COUNTS = "counts";

    private final GraphScripts scripts;
    private final int width;
    /** Where new values go, as the server said last: what is put elsewhere is in its place, too. */
    private volatile int current;

    Shelves(GraphScripts scripts, int width, int current) {
        this.scripts = scripts;
        this.width = width;
        this.current = current;
    }

    int current() {
        return current;
    }

    void moveTo(int shelf) {
        current = shelf;
    }

    /** The places where a part may have something, as they stand behind its name. */
    private List<String> all(String part) {
        return width == ValueId.TIME_ORDERED
                ? IntStream.range(0, placesIn(part)).mapToObj(String::valueOf).toList()
                : List.of("");
    }

    private static int placesIn(String part) {
        return part.equals(COUNTS) ? COUNT + LEAF : COUNT;
    }

    /** Where a part has a field with this byte. */
    private static int place(String part, byte at) {
        return (at & 0xff) % placesIn(part);
    }

    /** The places where a part has something now. */
    List<String> inUse(String part) {
        List<String> all = all(part);
        List<byte[]> keys = all.stream().map(place -> key(part, place)).toList();
        List<Reply> sizes =
                scripts.link().commands(Command.HLEN, keys, Collections.nCopies(keys.size(), new byte[0][]));
        return IntStream.range(0, all.size())
                .filter(i -> sizes.get(i).number() > 0)
                .mapToObj(all::get)
                .toList();
    }

    /** Whether two values are on one shelf, as those of a batch are. */
    static boolean areTogether(ValueId one, ValueId other) {
        return one.width() != ValueId.TIME_ORDERED || of(one) == of(other);
    }

    /** The shelf of a value whose id says it. */
    static int of(ValueId id) {
        return id.raw()[AT] % COUNT;
    }

    /** Whether a field that begins there belongs to a place of a part; one that is too short to say belongs anywhere. */
    boolean isAt(String part, String place, byte[] fields, int at) {
        return place.isEmpty() || fields.length <= at + AT || Integer.parseInt(place) == place(part, fields[at + AT]);
    }

    /** The key of the hash that has a field of a part: an id, or a chunk of a value. */
    byte[] key(String part, byte[] field) {
        return key(part, width == ValueId.TIME_ORDERED ? String.valueOf(place(part, field[AT])) : "");
    }

    byte[] key(String part, String place) {
        return scripts.key(place.isEmpty() ? part : part + ':' + place);
    }

    byte @Nullable [] get(String part, byte[] field) {
        return scripts.link().command(Command.HGET, key(part, field), field).bytesOrNull();
    }

    /** The entries of these fields, in their order, wherever they are: one round trip. */
    List<byte @Nullable []> getAll(String part, List<byte[]> fields) {
        Map<Integer, List<Integer>> places = new LinkedHashMap<>();
        for (int i = 0; i < fields.size(); i++) {
            int place = width == ValueId.TIME_ORDERED ? place(part, fields.get(i)[AT]) : 0;
            places.computeIfAbsent(place, it -> new ArrayList<>()).add(i);
        }
        List<byte[]> keys = new ArrayList<>();
        List<byte[][]> asked = new ArrayList<>();
        for (List<Integer> some : places.values()) {
            keys.add(key(part, fields.get(some.getFirst())));
            asked.add(some.stream().map(fields::get).toArray(byte[][]::new));
        }
        Iterator<Reply> replies =
                scripts.link().commands(Command.HMGET, keys, asked).iterator();
        byte[] @Nullable [] found = new byte[fields.size()][];
        for (List<Integer> some : places.values()) {
            List<byte @Nullable []> entries = replies.next().allBytes();
            for (int i = 0; i < some.size(); i++) {
                found[some.get(i)] = entries.get(i);
            }
        }
        return Arrays.asList(found);
    }
}
