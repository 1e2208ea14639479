package io.holdfast.redis.graph;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.redis.graph.model.FaultyWire;
import io.holdfast.redis.graph.model.Subject;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.ZAddParams;

/** The value graph as the model test drives it. */
final class HoldfastSubject implements Subject {

    private static final Duration LONG = Duration.ofHours(1);

    private final FaultyWire wire;
    private final Jedis redis;
    private final Addressing addressing;
    private final GraphFixture watcher;
    private int started;

    HoldfastSubject(FaultyWire wire, Jedis redis, String uri, Addressing addressing) {
        this.wire = wire;
        this.redis = redis;
        this.addressing = addressing;
        this.watcher = new GraphFixture(uri, settings(16));
    }

    /** @param budget small ones leave work over, large ones take many works at once */
    private Settings settings(int budget) {
        return Settings.none()
                .set(GraphSettings.ADDRESSING, addressing)
                .set(GraphSettings.WRITER_LEASE, LONG)
                .set(GraphSettings.SNAPSHOT_LEASE, LONG)
                .set(GraphSettings.STEP_EDGES, budget);
    }

    private record Held(GraphLease lease, AutoCloseable object) implements Lease {}

    @Override
    public Client start() {
        int budget = started++ % 2 == 0 ? 16 : 384;
        GraphFixture fixture = said(() -> {
            while (true) {
                try {
                    return new GraphFixture(wire.client(), settings(budget));
                } catch (HoldfastException e) {
                    if (e.category() != Category.RETRY) {
                        throw e;
                    }
                }
            }
        });
        return new ClientProcess(fixture.graph);
    }

    private static final class ClientProcess implements Client {

        private final ValueGraph graph;
        private int puts;

        private ClientProcess(ValueGraph graph) {
            this.graph = graph;
        }

        /** As if the shelves were full now and then: what is put together, and after one another, is on one or on several. */
        private GraphWriter elsewhere(Lease lease) {
            int puts = this.puts++;
            graph.shelves().moveTo(puts % 64 < 32 ? puts % 5 : puts / 32 % Shelves.COUNT);
            return writerOf(lease);
        }

        @Override
        public Lease writer() {
            GraphWriter writer = said(graph::writer);
            return new Held(writer.lease(), writer);
        }

        @Override
        public String put(Lease lease, String value, List<String> children) {
            return said(() -> elsewhere(lease).put(value.getBytes(UTF_8), ids(children)))
                    .toString();
        }

        @Override
        public String put(
                Lease lease, String value, List<String> children, String before, List<String> childrenBefore) {
            Predecessor predecessor = new Predecessor(ValueId.parse(before), ids(childrenBefore));
            return said(() -> elsewhere(lease).put(value.getBytes(UTF_8), ids(children), predecessor))
                    .toString();
        }

        private static List<ValueId> ids(List<String> ids) {
            return ids.stream().map(ValueId::parse).toList();
        }

        @Override
        public void flush(Lease lease) {
            said(() -> {
                writerOf(lease).flush();
                return true;
            });
        }

        @Override
        public void setRoot(String name, String target) {
            said(() -> {
                graph.root(name).set(ValueId.parse(target));
                return true;
            });
        }

        @Override
        public void dropRoot(String name) {
            said(() -> graph.root(name).drop());
        }

        @Override
        public Lease hold(String target) {
            Hold hold = said(() -> graph.hold(ValueId.parse(target), LONG));
            return new Held(hold.lease(), hold);
        }

        @Override
        public void release(Lease lease) {
            said(() -> {
                try {
                    ((Held) lease).object().close();
                } catch (HoldfastException e) {
                    throw e;
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
                return true;
            });
        }

        @Override
        public void step() {
            said(() -> graph.scripts().step());
        }

        private static GraphWriter writerOf(Lease lease) {
            return (GraphWriter) ((Held) lease).object();
        }
    }

    private static <T> T said(Supplier<T> call) {
        try {
            return call.get();
        } catch (HoldfastException e) {
            switch (e.category()) {
                case RETRY -> throw new Lost(e);
                case GONE, LAPSED -> throw new Refused(e);
                default -> throw e;
            }
        }
    }

    @Override
    public void lapse(Lease lease) {
        redis.zadd(
                GraphFixture.key("leases"),
                1,
                ((Held) lease).lease().id(),
                ZAddParams.zAddParams().xx());
        String alive =
                watcher.graph.scripts().renew(List.of(((Held) lease).lease().id()));
        if (!alive.equals("0")) {
            throw new AssertionError("a lease past its deadline was renewed");
        }
    }

    @Override
    public void lapseAll() {
        GraphFixture.lapseAll(redis);
    }

    @Override
    public void quiet(boolean on) {
        if (on) {
            redis.hset(GraphFixture.key("meta"), "run".getBytes(UTF_8), "of another server".getBytes(UTF_8));
            if (!watcher.graph.scripts().step().quiet()) {
                throw new AssertionError("a step on a server that was replaced");
            }
        } else {
            redis.hset(GraphFixture.key("meta"), "quiet".getBytes(UTF_8), new byte[] {'0'});
        }
    }

    @Override
    public void drain() {
        watcher.drain();
    }

    @Override
    public Map<String, String> find(Collection<String> ids) {
        Map<String, String> found = new HashMap<>();
        watcher.graph
                .findAll(ids.stream().map(ValueId::parse).toList())
                .forEach((id, bytes) -> found.put(id.toString(), new String(bytes, UTF_8)));
        return found;
    }

    @Override
    public Optional<String> rootTarget(String name) {
        return watcher.graph.root(name).target().map(ValueId::toString);
    }

    @Override
    public Map<String, String> contents() {
        Map<String, String> contents = new HashMap<>();
        whole("values").forEach((id, value) -> contents.put(id, new String(value, UTF_8)));
        return contents;
    }

    /** What a part has for each value, the chunks of large ones put together. */
    private Map<String, byte[]> whole(String part) {
        Map<String, byte[]> fields = new TreeMap<>(); // chunks in their order
        GraphFixture.entries(redis, part)
                .forEach(entry -> fields.put(HexFormat.of().formatHex(entry.getKey()), entry.getValue()));
        Map<String, ByteArrayOutputStream> whole = new HashMap<>();
        fields.forEach((field, bytes) -> whole.computeIfAbsent(
                        field.substring(0, 2 * addressing.width()), id -> new ByteArrayOutputStream())
                .writeBytes(bytes));
        Map<String, byte[]> result = new HashMap<>();
        whole.forEach((id, bytes) -> result.put(id, bytes.toByteArray()));
        return result;
    }

    /** Key for key: edges, counts, and nothing in any other part of the shard. */
    @Override
    public String faultsInside(Map<String, String> roots, Map<String, List<String>> children) {
        StringBuilder faults = new StringBuilder();
        Map<String, Integer> expected = new HashMap<>();
        roots.values().forEach(target -> expected.merge(target, 1, Integer::sum));
        long edges = 0;
        Map<String, EdgeEntry> lists = new HashMap<>();
        whole("edges").forEach((id, entry) -> lists.put(id, EdgeEntry.read(entry, addressing.width())));
        faults.append(faultsInLines(lists));
        for (String id : contents().keySet()) {
            List<String> wanted = children.getOrDefault(id, List.of());
            EdgeEntry entry = lists.getOrDefault(id, EdgeEntry.NONE);
            List<String> before = children.getOrDefault(String.valueOf(entry.before()), List.of());
            EdgeEntry.ownChildren(wanted, before).forEach(child -> expected.merge(child, 1, Integer::sum));
            edges += wanted.size();
            List<String> stored = PutRequest.unpack(entry.packed(), addressing.width()).stream()
                    .map(ValueId::toString)
                    .toList();
            if (!stored.equals(wanted)) {
                faults.append("edges of ")
                        .append(id)
                        .append(" are ")
                        .append(stored)
                        .append("; ");
            }
        }
        lists.keySet().removeAll(contents().keySet());
        Map<String, String> counts = new HashMap<>();
        GraphFixture.entries(redis, "counts")
                .forEach(entry ->
                        counts.put(HexFormat.of().formatHex(entry.getKey()), new String(entry.getValue(), ISO_8859_1)));
        long large =
                counts.values().stream().filter(count -> count.indexOf('|') > 0).count();
        for (String id : contents().keySet()) {
            String count = counts.containsKey(id) ? counts.remove(id) : "1";
            if (!count.replaceFirst("\\|.*", "").equals(String.valueOf(expected.get(id)))) {
                faults.append(id).append(" is held ").append(expected.get(id)).append(" times and counted ");
                faults.append(count).append("; ");
            }
        }
        Map<String, Long> parts = GraphFixture.parts(redis);
        for (String part : new String[] {"leases", "lease-info", "held", "doomed"}) {
            if (parts.getOrDefault(part, 0L) != 0) {
                faults.append(part).append(" has ").append(parts.get(part)).append("; ");
            }
        }
        if (!lists.isEmpty() || !counts.isEmpty()) {
            faults.append("entries without a value: ")
                    .append(lists.keySet())
                    .append(counts.keySet())
                    .append("; ");
        }
        return faults.append(faultsInMeta(edges, large)).toString();
    }

    private String faultsInMeta(long edges, long large) {
        Map<String, String> meta = redis.hgetAll(new String(GraphFixture.key("meta"), UTF_8));
        long chunks = GraphFixture.entries(redis, "values").stream()
                .filter(entry -> entry.getKey().length > addressing.width())
                .count();
        boolean isWell = String.valueOf(edges).equals(meta.get("edges"))
                && String.valueOf(large).equals(meta.getOrDefault("large", "0"))
                && String.valueOf(chunks).equals(meta.getOrDefault("chunks", "0"))
                && !meta.containsKey("miscounts");
        return isWell
                ? ""
                : "meta is " + meta + " with " + edges + " edges, " + large + " large values and " + chunks
                        + " chunks; ";
    }

    private static String faultsInLines(Map<String, EdgeEntry> lists) {
        StringBuilder faults = new StringBuilder();
        lists.forEach((id, entry) -> {
            ValueId before = entry.before();
            ValueId after = entry.after();
            boolean isWell = (before == null
                            || id.equals(String.valueOf(lists.getOrDefault(before.toString(), EdgeEntry.NONE)
                                    .after())))
                    && (after == null
                            || id.equals(String.valueOf(lists.getOrDefault(after.toString(), EdgeEntry.NONE)
                                    .before())));
            if (!isWell) {
                faults.append(id).append(" is in a line whose neighbours do not know it; ");
            }
        });
        return faults.toString();
    }

    @Override
    public void close() {
        watcher.close();
    }
}
