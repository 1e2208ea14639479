package io.holdfast.redis.graph;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.link.RedisLink;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol.Command;

/**
 * Reads values and their children with plain commands: reading needs no script, only a hold. Large values are put
 * together from their chunks.
 */
final class ValueReader {

    private static final int MOST_IN_A_CALL = 256;
    private static final String VALUES = "values";
    private static final String INCOMING = "incoming";
    private static final Pattern LARGE = Pattern.compile("[^|]+\\|(\\d+),(\\d+)(?:\\|.*)?", Pattern.DOTALL);

    private final GraphScripts scripts;
    private final Shelves shelves;
    private final String graph;
    private final int width;

    ValueReader(GraphScripts scripts, Shelves shelves, String graph, int width) {
        this.scripts = scripts;
        this.shelves = shelves;
        this.graph = graph;
        this.width = width;
    }

    /** The value, if it is there now; without a hold it may be gone the next moment. */
    Optional<byte[]> find(ValueId id) {
        check(id);
        return read(id, VALUES)
                .or(() -> isTorn() ? read(id, INCOMING) : Optional.empty())
                .or(() -> read(id, VALUES));
    }

    /** Whether there is such a value, of those that are not in chunks. */
    boolean isSmallAndThere(ValueId id) {
        return entry(VALUES, id.raw()) != null
                || (isTorn() && entry(INCOMING, id.raw()) != null)
                || entry(VALUES, id.raw()) != null;
    }

    private Optional<byte[]> read(ValueId id, String part) {
        byte[] value = entry(part, id.raw());
        return value != null ? Optional.of(value) : large(id, part, 1);
    }

    /**
     * Whether the values of a shelf have the name incoming: after a transaction that was torn apart, until the next call of a
     * script that writes (names.lua). What is not in values is looked for there, and then in values once more, before it is
     * called gone.
     */
    private boolean isTorn() {
        return entry(INCOMING, new byte[0]) != null;
    }

    private byte @Nullable [] entry(String part, byte[] field) {
        return part.equals(INCOMING)
                ? link().command(Command.HGET, scripts.key(INCOMING), field).bytesOrNull()
                : shelves.get(part, field);
    }

    private List<byte @Nullable []> entries(String part, List<ValueId> ids) {
        List<byte[]> fields = ids.stream().map(ValueId::raw).toList();
        return part.equals(INCOMING)
                ? link().command(Command.HMGET, scripts.key(INCOMING), fields.toArray(byte[][]::new))
                        .allBytes()
                : shelves.getAll(part, fields);
    }

    Map<ValueId, byte[]> findAll(List<ValueId> ids) {
        Map<ValueId, byte[]> found = new LinkedHashMap<>(readAll(ids, VALUES));
        if (!found.keySet().containsAll(ids)) {
            if (isTorn()) {
                found.putAll(readAll(without(ids, found), INCOMING));
            }
            found.putAll(readAll(without(ids, found), VALUES));
        }
        return found;
    }

    private static List<ValueId> without(List<ValueId> ids, Map<ValueId, byte[]> found) {
        return ids.stream().filter(id -> !found.containsKey(id)).toList();
    }

    private Map<ValueId, byte[]> readAll(List<ValueId> ids, String part) {
        Map<ValueId, byte[]> found = new LinkedHashMap<>();
        for (int from = 0; from < ids.size(); from += MOST_IN_A_CALL) {
            List<ValueId> some = ids.subList(from, Math.min(ids.size(), from + MOST_IN_A_CALL));
            List<byte @Nullable []> values = entries(part, some);
            for (int i = 0; i < some.size(); i++) {
                ValueId id = some.get(i);
                byte[] value = values.get(i);
                if (value != null) {
                    found.put(id, value);
                } else {
                    large(id, part, 1).ifPresent(whole -> found.put(id, whole));
                }
            }
        }
        return found;
    }

    List<ValueId> children(ValueId id) {
        check(id);
        byte[] entry = entry("edges", id.raw());
        return unpack(
                entry != null ? edges(entry).packed() : large(id, "edges", 2).orElse(new byte[0]));
    }

    Map<ValueId, List<ValueId>> childrenOfAll(List<ValueId> ids) {
        Map<ValueId, List<ValueId>> found = new LinkedHashMap<>();
        edgesOfAll(ids).forEach((id, entry) -> found.put(id, unpack(entry.packed())));
        return found;
    }

    /** What edges has of each value, in the order of the ids; the chunks of large ones put together. */
    Map<ValueId, EdgeEntry> edgesOfAll(List<ValueId> ids) {
        Map<ValueId, EdgeEntry> found = new LinkedHashMap<>();
        List<byte @Nullable []> entries = entries("edges", ids);
        List<byte @Nullable []> states = entries("counts", ids);
        for (int i = 0; i < ids.size(); i++) {
            byte[] entry = entries.get(i);
            byte[] state = states.get(i);
            if (entry != null) {
                found.put(ids.get(i), edges(entry));
            } else if (state != null && new String(state, ISO_8859_1).indexOf('|') >= 0) {
                found.put(ids.get(i), new EdgeEntry(PutRequest.pack(children(ids.get(i))), null, null));
            } else {
                found.put(ids.get(i), EdgeEntry.NONE);
            }
        }
        return found;
    }

    private EdgeEntry edges(byte[] entry) {
        try {
            return EdgeEntry.read(entry, width);
        } catch (IllegalArgumentException e) {
            throw new HoldfastException(Category.CORRUPT, "graph " + graph + " has " + e.getMessage(), "run verify", e);
        }
    }

    /** Values reachable from one, parents before children, each once. Asks {@code check} before every call. */
    Stream<ValueId> walk(ValueId from, Runnable check) {
        Deque<ValueId> open = new ArrayDeque<>(List.of(from));
        Set<ValueId> seen = new HashSet<>(open);
        Deque<ValueId> ready = new ArrayDeque<>();
        return StreamSupport.stream(
                new Spliterators.AbstractSpliterator<ValueId>(Long.MAX_VALUE, Spliterator.DISTINCT) {
                    @Override
                    public boolean tryAdvance(Consumer<? super ValueId> action) {
                        if (ready.isEmpty()) {
                            List<ValueId> batch = new ArrayList<>();
                            while (!open.isEmpty() && batch.size() < MOST_IN_A_CALL) {
                                batch.add(open.removeFirst());
                            }
                            if (batch.isEmpty()) {
                                return false;
                            }
                            check.run();
                            childrenOfAll(batch)
                                    .values()
                                    .forEach(children -> children.forEach(child -> {
                                        if (seen.add(child)) {
                                            open.addLast(child);
                                        }
                                    }));
                            check.run();
                            ready.addAll(batch);
                        }
                        action.accept(ready.removeFirst());
                        return true;
                    }
                },
                false);
    }

    /** The chunks of a large value, put together; empty if there is no such value, or it is still being built. */
    private Optional<byte[]> large(ValueId id, String part, int group) {
        byte[] state = entry("counts", id.raw());
        if (state == null || state[0] == 'b' || state[0] == 'd') {
            return Optional.empty();
        }
        Matcher shape = LARGE.matcher(new String(state, ISO_8859_1));
        if (!shape.matches()) {
            return Optional.empty();
        }
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        int chunks = Integer.parseInt(shape.group(group));
        for (int i = 0; i < chunks; i++) {
            byte[] chunk = entry(part, chunkField(id, i));
            if (chunk == null) {
                return Optional.empty(); // reclaimed while we read: not under a hold
            }
            whole.writeBytes(chunk);
        }
        return Optional.of(whole.toByteArray());
    }

    static byte[] chunkField(ValueId id, int index) {
        return ByteBuffer.allocate(id.width() + 4).put(id.raw()).putInt(index).array();
    }

    List<ValueId> unpack(byte[] packed) {
        return PutRequest.unpack(packed, width);
    }

    void check(ValueId id) {
        if (id.width() != width) {
            throw HoldfastException.misuse(
                    "value id " + id + " has " + id.width() + " bytes, and the ids of graph " + graph + " have "
                            + width,
                    "use ids of this graph");
        }
    }

    HoldfastException gone(ValueId id) {
        return new HoldfastException(Category.GONE, "there is no value " + id + " in graph " + graph);
    }

    private RedisLink link() {
        return scripts.link();
    }
}
