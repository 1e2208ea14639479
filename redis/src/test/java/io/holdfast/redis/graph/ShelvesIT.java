package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.Settings;
import io.holdfast.testkit.SharedRedis;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;

/** The hashes of a graph stay small, and nothing depends on which of them a value is in. */
class ShelvesIT {

    private static final int FULL = 15_500;

    @RegisterExtension
    static final SharedRedis server = SharedRedis.plain();

    private Jedis redis;
    private GraphFixture fixture;
    private ValueGraph graph;

    @BeforeEach
    void open() {
        redis = server.client();
        fixture = new GraphFixture(server.uri().toString(), Settings.none());
        graph = fixture.graph;
    }

    @AfterEach
    void close() {
        fixture.close();
        redis.close();
    }

    @Test
    void smallGraphIsOnOneShelfWhoeverPuts() {
        for (int i = 0; i < 5; i++) {
            try (GraphFixture other = new GraphFixture(server.uri().toString(), Settings.none());
                    GraphWriter writer = other.graph.writer()) {
                other.graph.root("r" + i).set(writer.put(bytes("leaf"), writer.put(bytes("below"))));
            }
        }
        assertThat(shelvesInUse()).containsExactly(0);
    }

    /** Else the server would stop for as long as it takes to give a large table back. */
    @Test
    void noHashGrowsMuchBeyondAFullShelf() {
        try (GraphWriter writer = graph.writer()) {
            ValueId chain = writer.put(bytes("the end"));
            for (int i = 0; i < 40_000; i++) { // each has bytes, a count and edges
                chain = writer.put(bytes("" + i), chain);
            }
            graph.root("main").set(chain);
        }
        assertThat(shelvesInUse()).containsExactly(0, 1, 2);
        for (String part : List.of("values", "counts", "edges")) {
            assertThat(GraphFixture.keys(part))
                    .allSatisfy(key -> assertThat(redis.hlen(key)).isLessThanOrEqualTo(1 << 14));
        }
        graph.root("main").drop();
        fixture.drain();
        assertThat(GraphFixture.parts(redis))
                .containsEntry("values", 0L)
                .containsEntry("counts", 0L)
                .containsEntry("edges", 0L);
    }

    @Test
    void writerOfLargeValuesGoesOnToo() {
        fill(0, FULL);
        try (GraphWriter writer = graph.writer()) {
            ValueId first = writer.put(new byte[GraphWriter.BATCH_BYTES + 1]);
            ValueId second = writer.put(new byte[GraphWriter.BATCH_BYTES + 1]);
            assertThat(List.of(shelf(first), shelf(second))).containsExactly(0, 1);
        }
    }

    @Test
    void whoOpensLaterPutsWhereTheOthersPut() {
        fill(0, FULL);
        putOne(graph, "sees that the shelf is full");
        try (GraphFixture later = new GraphFixture(server.uri().toString(), Settings.none())) {
            assertThat(shelf(putOne(later.graph, "from another process"))).isEqualTo(1);
        }
        assertThat(shelf(putOne(graph, "from the first"))).isEqualTo(1);
    }

    /** It learns from the answer to its next call. */
    @Test
    void whoIsBehindFollows() {
        try (GraphFixture behind = new GraphFixture(server.uri().toString(), Settings.none())) {
            fill(0, FULL);
            putOne(graph, "sees that the shelf is full");
            assertThat(shelf(putOne(behind.graph, "does not know yet"))).isZero();
            assertThat(shelf(putOne(behind.graph, "knows"))).isEqualTo(1);
        }
    }

    @Test
    void whereAllShelvesAreFullTheEmptiestOfTheNextIsTaken() {
        IntStream.range(0, Shelves.COUNT).forEach(shelf -> fill(shelf, shelf == 5 ? FULL : FULL + 100));
        putOne(graph, "sees that the shelf is full");
        assertThat(shelf(putOne(graph, "goes on"))).isEqualTo(5);
    }

    /** What a parent holds, and who holds it, may be on any shelf. */
    @Test
    void familiesMayBeSpreadOverAllShelves() {
        List<ValueId> leaves = new ArrayList<>();
        try (GraphWriter writer = graph.writer()) {
            for (int i = 0; i < 200; i++) {
                graph.shelves().moveTo(i * 7 % Shelves.COUNT);
                leaves.add(writer.put(bytes("leaf " + i)));
                writer.flush();
            }
            ValueId first = writer.put(bytes("first"), leaves);
            ValueId second = writer.put(bytes("second"), leaves.subList(50, 150));
            graph.root("first").set(first);
            graph.root("second").set(second);
        }
        fixture.drain();
        assertThat(shelvesInUse()).hasSize(Shelves.COUNT);
        assertThat(graph.findAll(leaves)).hasSize(200);
        assertThat(graph.inspect().verify(GraphProgress.NONE).isSound()).isTrue();
        assertThat(graph.inspect().statistics().values()).isEqualTo(202);

        graph.root("first").drop();
        fixture.drain();
        assertThat(graph.findAll(leaves).keySet()).containsExactlyInAnyOrderElementsOf(leaves.subList(50, 150));
        assertThat(graph.inspect().verify(GraphProgress.NONE).isSound()).isTrue();

        graph.root("second").drop();
        fixture.drain();
        assertThat(shelvesInUse()).isEmpty();
    }

    @Test
    void valueOnAShelfThatItsIdDoesNotSayIsFound() {
        ValueId id = putOne(graph, "in its place");
        graph.root("main").set(id);
        redis.hset(GraphFixture.key("values:9"), id.raw(), bytes("a copy on another shelf"));
        VerifyReport report = graph.inspect().verify(GraphProgress.NONE);
        assertThat(report.isSound()).isFalse();
        assertThat(report.findings()).extracting(Finding::kind).containsExactly(Finding.Kind.UNREADABLE);
    }

    private static ValueId putOne(ValueGraph graph, String value) {
        try (GraphWriter writer = graph.writer()) {
            ValueId id = writer.put(bytes(value));
            graph.root(value.replace(' ', '-')).set(id);
            return id;
        }
    }

    private static int shelf(ValueId id) {
        return id.raw()[Shelves.AT] % Shelves.COUNT;
    }

    private void fill(int shelf, int entries) {
        Pipeline pipeline = redis.pipelined();
        byte[] key = GraphFixture.key("values:" + shelf);
        for (int i = 0; i < entries; i++) {
            pipeline.hset(key, bytes("pad" + i), bytes(""));
        }
        pipeline.sync();
    }

    private Set<Integer> shelvesInUse() {
        Set<Integer> shelves = new HashSet<>();
        GraphFixture.entries(redis, "values").forEach(entry -> shelves.add(entry.getKey()[Shelves.AT] % Shelves.COUNT));
        return shelves;
    }
}
