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
 * what was put together stays together (shelves.lua says why). A byte of its id says on which shelf a value is; ids that are
 * made from content have no such byte, and are all on one.
 */
final class Shelves {

    static final int COUNT = 64;
    /** The byte of an id that says it: the one behind the time. */
    static final int AT = 6;

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

    /** What scan.lua calls the shelves, in order. */
    private List<String> all() {
        return width == ValueId.TIME_ORDERED
                ? IntStream.range(0, COUNT).mapToObj(String::valueOf).toList()
                : List.of("");
    }

    /** Those where a part has something now. */
    List<String> inUse(String part) {
        List<String> all = all();
        List<byte[]> keys = all.stream().map(shelf -> key(part, shelf)).toList();
        List<Reply> sizes =
                scripts.link().commands(Command.HLEN, keys, Collections.nCopies(keys.size(), new byte[0][]));
        return IntStream.range(0, all.size())
                .filter(i -> sizes.get(i).number() > 0)
                .mapToObj(all::get)
                .toList();
    }

    /** Whether two values are on one shelf, as those of a batch are. */
    static boolean areTogether(ValueId one, ValueId other) {
        return one.width() != ValueId.TIME_ORDERED || one.raw()[AT] == other.raw()[AT];
    }

    /** Whether a field that begins there belongs on the shelf; one that is too short to say belongs anywhere. */
    boolean isOn(String shelf, byte[] fields, int at) {
        return shelf.isEmpty() || fields.length <= at + AT || Integer.parseInt(shelf) == fields[at + AT];
    }

    /** The key of the hash that has a field of a part: an id, or a chunk of a value. */
    byte[] key(String part, byte[] field) {
        return key(part, width == ValueId.TIME_ORDERED ? String.valueOf(field[AT] & 0xff) : "");
    }

    byte[] key(String part, String shelf) {
        return scripts.key(shelf.isEmpty() ? part : part + ':' + shelf);
    }

    byte @Nullable [] get(String part, byte[] field) {
        return scripts.link().command(Command.HGET, key(part, field), field).bytesOrNull();
    }

    /** The entries of these fields, in their order, wherever they are: one round trip. */
    List<byte @Nullable []> getAll(String part, List<byte[]> fields) {
        Map<Integer, List<Integer>> places = new LinkedHashMap<>();
        for (int i = 0; i < fields.size(); i++) {
            int shelf = width == ValueId.TIME_ORDERED ? fields.get(i)[AT] : 0;
            places.computeIfAbsent(shelf, it -> new ArrayList<>()).add(i);
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
