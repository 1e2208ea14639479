package io.holdfast.redis.graph;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.Settings;
import io.holdfast.testkit.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;

/**
 * Graphs of every shape that ever made a reclaiming script run away: put, read back, dropped, and drained to nothing,
 * each step within its budget of edges. {@code -Dshapes=full} runs them at the sizes of the incidents.
 */
class GraphShapesIT {

    private static final boolean FULL = "full".equals(System.getProperty("shapes"));

    private static RedisServer server;
    private Jedis redis;
    private GraphFixture fixture;
    private ValueGraph graph;

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @BeforeEach
    void open() {
        server.flush();
        redis = server.client();
        // Nobody renews here, and the large shapes take a while.
        Settings settings = GraphFixture.with(GraphSettings.WRITER_LEASE, Duration.ofHours(1))
                .set(GraphSettings.SNAPSHOT_LEASE, Duration.ofHours(1));
        fixture = new GraphFixture(server.uri().toString(), settings);
        graph = fixture.graph;
    }

    @AfterEach
    void close() {
        fixture.close();
        redis.close();
    }

    /** To give their bytes back takes the server far longer than to cut the edges to them. */
    @Test
    void valuesOfManyBytesAreFreedAFewAtATime() {
        byte[] large = new byte[200 << 10]; // not so large that it is kept in chunks
        for (int inner = 0; inner < 2; inner++) {
            try (GraphWriter writer = graph.writer()) {
                List<ValueId> children = new ArrayList<>();
                for (int i = 0; i < 100; i++) {
                    children.add(inner == 1 ? writer.put(large, writer.put(bytes("leaf"))) : writer.put(large));
                }
                graph.root("main").set(writer.put(bytes("top"), children));
            }
            graph.root("main").drop();
            long freed = 0;
            for (GraphScripts.Stepped stepped = graph.scripts().step();
                    stepped.freed() > 0;
                    stepped = graph.scripts().step()) {
                assertThat(stepped.freed()).isLessThan(60);
                freed += stepped.freed();
            }
            assertThat(freed).isEqualTo(inner == 1 ? 201 : 101);
        }
    }

    @Test
    void longChain() {
        int length = FULL ? 1_000_000 : 20_000;
        try (GraphWriter writer = graph.writer()) {
            ValueId last = writer.put(bytes("end"));
            for (int i = 1; i < length; i++) {
                last = writer.put(bytes("link"), last);
            }
            graph.root("main").set(last);
        }
        int read = 0;
        ValueId last = graph.root("main").target().orElseThrow();
        for (List<ValueId> next = List.of(last);
                !next.isEmpty() && read < 100;
                next = graph.children(next.getFirst())) {
            last = next.getFirst();
            read++;
        }
        assertThat(read).isEqualTo(100);
        assertThat(graph.find(last)).contains(bytes("link"));
        assertValuesThenDropAndDrain(length);
    }

    @Test
    void oneValueWithManyChildren() {
        int count = FULL ? 200_000 : 20_000;
        List<ValueId> children = new ArrayList<>();
        ValueId fan;
        try (GraphWriter writer = graph.writer()) {
            for (int i = 0; i < count; i++) {
                children.add(writer.put(bytes("child " + i)));
            }
            fan = writer.put(bytes("fan"), children);
            graph.root("main").set(fan);
        }
        assertThat(graph.children(fan)).isEqualTo(children);
        assertThat(graph.find(fan)).contains(bytes("fan"));
        assertThat(graph.find(children.getLast())).contains(bytes("child " + (count - 1)));
        assertValuesThenDropAndDrain(count + 1);
    }

    @Test
    void fullTree() {
        int levels = FULL ? 7 : 5;
        ValueGraphIT.buildTree(graph, "main", levels, 10);
        int size = FULL ? 1_111_111 : 11_111;
        if (!FULL) {
            try (Snapshot snapshot = graph.snapshot("main")) {
                assertThat(snapshot.walk()).hasSize(size);
            }
        }
        assertValuesThenDropAndDrain(size);
    }

    /** The first entries in a new table take a server as long as many others. Ids that are made from content are all in one table. */
    @Test
    void batchesAreSmallWhileATableGrows() {
        server.flush();
        try (GraphFixture content = new GraphFixture(
                        server.uri().toString(), GraphFixture.with(GraphSettings.ADDRESSING, Addressing.CONTENT));
                GraphWriter writer = content.graph.writer()) {
            long usually = batchesFor(writer, "first", 1_600);
            byte[] values = GraphFixture.key("values");
            long padding = (1 << 17) - 800 - redis.hlen(values);
            Pipeline pipeline = redis.pipelined();
            for (int i = 0; i < padding; i++) {
                pipeline.hset(values, bytes("pad" + i), bytes(""));
            }
            pipeline.sync();
            assertThat(batchesFor(writer, "second", 1_600)).isGreaterThan(3 * usually);
            assertThat(redis.hlen(values)).isGreaterThan(1 << 17);
        }
    }

    /** Puts so many values; answers how many transactions that took. */
    private long batchesFor(GraphWriter writer, String word, int count) {
        redis.configResetStat();
        List<ValueId> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(writer.put(bytes(word + i)));
        }
        writer.flush();
        String statistics = redis.info("commandstats");
        assertThat(redis.hmget(
                        GraphFixture.key("values"),
                        all.stream().map(ValueId::raw).toArray(byte[][]::new)))
                .doesNotContainNull();
        return Pattern.compile("cmdstat_exec:calls=(\\d+)")
                .matcher(statistics)
                .results()
                .mapToLong(result -> Long.parseLong(result.group(1)))
                .sum();
    }

    @Test
    void diamondsWhereEveryValueHasEveryValueBelowAsAChild() {
        int layers = FULL ? 100 : 10;
        int width = FULL ? 200 : 80;
        try (GraphWriter writer = graph.writer()) {
            List<ValueId> below = List.of();
            for (int layer = 0; layer < layers; layer++) {
                List<ValueId> next = new ArrayList<>();
                for (int i = 0; i < width; i++) {
                    next.add(writer.put(bytes(layer + "/" + i), below));
                }
                below = next;
            }
            graph.root("main").set(writer.put(bytes("top"), below));
        }
        try (Snapshot snapshot = graph.snapshot("main")) {
            assertThat(snapshot.walk()).hasSize(layers * width + 1);
        }
        assertValuesThenDropAndDrain(layers * width + 1);
    }

    @Test
    void sameChildManyTimes() {
        try (GraphWriter writer = graph.writer()) {
            ValueId leaf = writer.put(bytes("leaf"));
            ValueId inner = writer.put(bytes("inner"), leaf);
            List<ValueId> children = new ArrayList<>();
            for (int i = 0; i < 1_000; i++) {
                children.add(i % 2 == 0 ? leaf : inner);
            }
            ValueId top = writer.put(bytes("top"), children);
            graph.root("main").set(top);
            assertThat(graph.children(top)).isEqualTo(children);
        }
        graph.root("main").drop();
        assertThat(drain()).isEqualTo(3);
        assertNothingLeft();
    }

    @Test
    void valueThatWasDoomedTwiceReleasesItsChildrenOnce() {
        fixture.close();
        server.flush();
        fixture = new GraphFixture(
                server.uri().toString(), GraphFixture.with(GraphSettings.ADDRESSING, Addressing.CONTENT));
        graph = fixture.graph;
        ValueId leaf;
        try (GraphWriter writer = graph.writer()) {
            leaf = writer.put(bytes("leaf"));
            ValueId other = writer.put(bytes("other"));
            graph.root("keep").set(leaf);
            graph.root("keep other").set(other);
            for (int i = 0; i < 2; i++) {
                graph.root("main").set(writer.put(bytes("parent"), leaf));
                graph.root("main").set(other);
            }
        }
        assertThat(redis.llen(GraphFixture.key("doomed"))).isEqualTo(2);
        assertThat(drain()).isEqualTo(1);
        assertThat(graph.find(leaf)).contains(bytes("leaf"));
        graph.roots().keySet().forEach(name -> graph.root(name).drop());
        drain();
        assertNothingLeft();
    }

    @Test
    void valueOf64Megabytes() {
        byte[] bytes = new byte[64 << 20];
        new Random(64).nextBytes(bytes);
        ValueId large;
        try (GraphWriter writer = graph.writer()) {
            large = writer.put(bytes);
            graph.root("main").set(large);
        }
        assertThat(graph.find(large).orElseThrow()).isEqualTo(bytes);
        graph.root("main").drop();
        assertThat(drain()).isEqualTo(1);
        assertNothingLeft();
    }

    @Test
    void emptyValue() {
        ValueId empty;
        try (GraphWriter writer = graph.writer()) {
            empty = writer.put(new byte[0]);
            graph.root("main").set(writer.put(new byte[0], empty));
        }
        assertThat(graph.find(empty)).contains(new byte[0]);
        assertThat(graph.children(graph.root("main").target().orElseThrow())).containsExactly(empty);
        assertValuesThenDropAndDrain(2);
    }

    @Test
    void manyValuesInChunksUnderOneParent() {
        int count = FULL ? 1_000 : 60;
        try (GraphWriter writer = graph.writer()) {
            List<ValueId> children = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                children.add(writer.put(new byte[300 << 10]));
            }
            graph.root("main").set(writer.put(bytes("top"), children));
        }
        graph.root("main").drop();
        assertThat(drain()).isEqualTo(count + 1);
        assertNothingLeft();
    }

    @Test
    void leaseThatHoldsManyValues() {
        int count = FULL ? 100_000 : 5_000;
        GraphWriter writer = graph.writer();
        for (int i = 0; i < count; i++) {
            writer.put(bytes("v" + i));
        }
        writer.flush();
        GraphFixture.lapseAll(redis);
        assertThat(drain()).isEqualTo(count);
        assertNothingLeft();
    }

    private void assertValuesThenDropAndDrain(long count) {
        assertThat(GraphFixture.count(redis, "values")).isEqualTo(count);
        graph.root("main").drop();
        assertThat(drain()).isEqualTo(count);
        assertNothingLeft();
    }

    /** Steps until nothing is left to do; every one of them keeps to its budget. */
    private long drain() {
        int budget = fixture.settings.get(GraphSettings.STEP_EDGES);
        long freed = 0;
        while (true) {
            GraphScripts.Stepped stepped = graph.scripts().step();
            assertThat(stepped.edges()).isLessThanOrEqualTo(budget);
            assertThat(stepped.freed()).isLessThanOrEqualTo(2L * budget);
            freed += stepped.freed();
            if (stepped.pending() == 0) {
                return freed;
            }
        }
    }

    private void assertNothingLeft() {
        GraphFixture.lapseAll(redis);
        drain();
        assertThat(GraphFixture.parts(redis))
                .allSatisfy((part, size) -> assertThat(size).as(part).isZero());
        assertThat(redis.hget(GraphFixture.key("meta"), bytes("edges"))).isEqualTo(bytes("0"));
        assertThat(redis.hexists(GraphFixture.key("meta"), bytes("miscounts"))).isFalse();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }
}
