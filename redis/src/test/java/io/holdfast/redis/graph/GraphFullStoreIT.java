package io.holdfast.redis.graph;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.testkit.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** Redis at its maxmemory: writing is refused whole, reclaiming goes on and makes the room that writing needs. */
class GraphFullStoreIT {

    private static final int CHILDREN = "full".equals(System.getProperty("shapes")) ? 200_000 : 20_000;

    private RedisServer server;
    private Jedis redis;
    private GraphFixture fixture;
    private ValueGraph graph;

    @BeforeEach
    void open() {
        server = RedisServer.start();
        redis = server.client();
        Settings settings = GraphFixture.with(GraphSettings.WRITER_LEASE, Duration.ofHours(1))
                .set(GraphSettings.SNAPSHOT_LEASE, Duration.ofHours(1));
        fixture = new GraphFixture(server.uri().toString(), settings);
        graph = fixture.graph;
    }

    @AfterEach
    void close() {
        fixture.close();
        redis.close();
        server.close();
    }

    @Test
    void putIsRefusedWithFullAndNothingIsHalfWritten() {
        try (GraphWriter writer = graph.writer()) {
            ValueId kept = writer.put(bytes("kept"));
            graph.root("main").set(kept);
            Map<String, Long> before = GraphFixture.parts(redis);
            fill();
            ValueId refused = writer.put(bytes("refused"), kept);
            assertFull(writer::flush);
            assertThat(GraphFixture.parts(redis)).isEqualTo(before);
            assertThat(redis.hget(GraphFixture.key("meta"), bytes("edges"))).isEqualTo(bytes("0"));

            // The writer lives on: when there is room, the same batch goes through.
            server.maxmemory("0");
            writer.flush();
            assertThat(graph.find(refused)).contains(bytes("refused"));
        }
    }

    @Test
    void largeValueThatMeetsTheLimitHalfWayIsNeverSeenAndLeavesNothing() {
        byte[] large = new byte[40 << 20];
        try (GraphWriter writer = graph.writer()) {
            server.maxmemory(String.valueOf(usedMemory() + (10 << 20)));
            assertFull(() -> writer.put(large));
            assertThat(GraphFixture.count(redis, "values")).isPositive();
            assertThat(graph.roots()).isEmpty();
        }
        fixture.drain();
        assertThat(GraphFixture.count(redis, "values")).isZero();
        assertThat(GraphFixture.count(redis, "counts")).isZero();
        try (GraphWriter writer = graph.writer()) {
            writer.put(new byte[5 << 20]);
            writer.flush();
        }
    }

    @Test
    void dropAndReclaimMakeRoomAlsoForAValueWithManyChildren() {
        try (GraphWriter writer = graph.writer()) {
            List<ValueId> children = new ArrayList<>();
            for (int i = 0; i < CHILDREN; i++) {
                children.add(writer.put(new byte[100]));
            }
            graph.root("main").set(writer.put(bytes("many children"), children));
        }
        fill();
        try (GraphWriter writer = graph.writer()) {
            writer.put(new byte[100]);
            assertFull(writer::flush);
            assertThat(graph.root("main").drop()).isTrue();
            fixture.drain();
            assertThat(GraphFixture.count(redis, "values")).isZero();
            writer.flush();
            assertThat(GraphFixture.count(redis, "values")).isEqualTo(1);
        }
    }

    @Test
    void rootsLeasesAndSnapshotsWorkWhenFull() {
        ValueId first;
        ValueId second;
        GraphWriter writer = graph.writer();
        first = writer.put(bytes("first"), writer.put(bytes("leaf")));
        second = writer.put(bytes("second"));
        graph.root("main").set(first);
        graph.root("other").set(second);
        fill();
        graph.root("main").set(second);
        try (Snapshot snapshot = graph.snapshot("main")) {
            assertThat(snapshot.get(second)).isEqualTo(bytes("second"));
            assertThat(graph.root("main").drop()).isTrue();
            assertThat(graph.root("other").drop()).isTrue();
            fixture.drain();
            assertThat(snapshot.get(second)).isEqualTo(bytes("second"));
            assertThat(graph.find(first)).isEmpty();
        }
        HoldfastException gone =
                catchThrowableOfType(HoldfastException.class, () -> graph.hold(second, Duration.ofMinutes(1)));
        assertThat(gone.category()).isEqualTo(Category.GONE);
        writer.close();
        server.maxmemory("0"); // only so that the test can move the deadlines
        GraphFixture.lapseAll(redis);
        fixture.drain();
        assertThat(GraphFixture.parts(redis))
                .allSatisfy((part, size) -> assertThat(size).as(part).isZero());
    }

    /** From here on every command that needs memory is refused, until something is reclaimed. */
    private void fill() {
        server.maxmemory(String.valueOf(usedMemory() - (256 << 10)));
    }

    private long usedMemory() {
        return Long.parseLong(server.info("memory").get("used_memory"));
    }

    private static void assertFull(ThrowingCallable call) {
        HoldfastException refused = catchThrowableOfType(HoldfastException.class, call);
        assertThat(refused).isNotNull();
        assertThat(refused.category()).isEqualTo(Category.FULL);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }
}
