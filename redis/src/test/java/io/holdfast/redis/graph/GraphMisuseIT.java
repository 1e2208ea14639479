package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.buildTree;
import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** Wrong calls: each its own clear error, and nothing half written. */
class GraphMisuseIT {

    @RegisterExtension
    static final SharedRedis server = SharedRedis.plain();

    private Jedis redis;
    private GraphFixture fixture;
    private ValueGraph graph;

    @BeforeEach
    void open() {
        redis = server.client();
        fixture = new GraphFixture(
                server.uri().toString(),
                Settings.none()
                        .set(GraphSettings.SNAPSHOT_LEASE, Duration.ofMillis(300))
                        .set(GraphSettings.LARGEST_VALUE, 1L << 20));
        graph = fixture.graph;
    }

    @AfterEach
    void close() {
        fixture.close();
        redis.close();
    }

    @Test
    void unknownChildIsGone() {
        try (GraphWriter writer = graph.writer()) {
            writer.put(bytes("p"), ValueId.parse("00".repeat(16)));
            assertCategory(Category.GONE, writer::flush, "00".repeat(16));
            assertCategory(Category.GONE, () -> writer.put(bytes("later")), "00".repeat(16));
        }
        assertThat(GraphFixture.count(redis, "values")).isZero();
    }

    @Test
    void idOfAnotherWidthIsMisuse() {
        ValueId wide = ValueId.parse("00".repeat(32));
        try (GraphWriter writer = graph.writer()) {
            assertCategory(Category.MISUSE, () -> writer.put(bytes("p"), wide), "has 32 bytes");
        }
        assertCategory(Category.MISUSE, () -> graph.find(wide), "have 16");
        assertCategory(Category.MISUSE, () -> graph.root("main").set(wide), "have 16");
        assertCategory(Category.MISUSE, () -> graph.hold(wide, Duration.ofSeconds(1)), "have 16");
        assertThatThrownBy(() -> ValueId.parse("xyz")).hasMessageContaining("'xyz' is not a value id");
    }

    @Test
    void readingAfterTheSnapshotLapsedIsRefused() {
        ValueId page = buildTree(graph, "main", 2, 2);
        Snapshot snapshot = graph.snapshot("main"); // nobody steps the duties, so nobody renews it
        assertThat(snapshot.get(page)).isNotEmpty();
        await().until(() -> !snapshot.isValid());
        assertCategory(Category.LAPSED, () -> snapshot.get(page), "the snapshot has lapsed");
        assertCategory(Category.LAPSED, () -> snapshot.walk().count(), "the snapshot has lapsed");
        snapshot.close();
        assertCategory(Category.MISUSE, () -> snapshot.get(page), "is closed");
    }

    @Test
    void valueThatIsTooLargeIsMisuse() {
        try (GraphWriter writer = graph.writer()) {
            assertCategory(
                    Category.MISUSE, () -> writer.put(new byte[(1 << 20) + 1]), "the largest allowed is 1048576");
        }
    }

    @Test
    void unknownLayoutAndOtherAddressingAreRefused() {
        assertCategory(
                Category.MISUSE,
                () -> new GraphFixture(
                        server.uri().toString(), GraphFixture.with(GraphSettings.ADDRESSING, Addressing.CONTENT)),
                "was made with addressing time, not content");
        redis.hset(GraphFixture.key("meta"), bytes("layout"), bytes("99"));
        assertCategory(
                Category.MISUSE, () -> new GraphFixture(server.uri().toString(), Settings.none()), "has layout 99");
    }

    @Test
    void badNamesAreMisuse() {
        for (String name : new String[] {"", "a b", "a/b", "a{b}", "ü", "x".repeat(65)}) {
            assertCategory(Category.MISUSE, () -> ValueGraph.open(fixture.client, name, null), "name '" + name + "'");
        }
        assertCategory(Category.MISUSE, () -> graph.root(""), "root name of 0 bytes");
        assertCategory(Category.MISUSE, () -> graph.root("x".repeat(201)), "root name of 201 bytes");
    }

    @Test
    void rootNameMayBeAnyText() {
        String name = "a b/c:{d}\n;ü\0";
        ValueId page = buildTree(graph, name, 1, 1);
        assertThat(graph.roots()).containsExactlyEntriesOf(java.util.Map.of(name, page));
        try (Snapshot snapshot = graph.snapshot(name)) {
            assertThat(snapshot.get(page)).isNotEmpty();
        }
        assertThat(graph.root(name).drop()).isTrue();
    }

    @Test
    void missingRootUnknownValueAndClosedWriterAreSaidClearly() {
        assertCategory(Category.GONE, () -> graph.snapshot("none"), "there is no root none");
        ValueId unknown = ValueId.parse("00".repeat(16));
        assertCategory(Category.GONE, () -> graph.root("main").set(unknown), "cannot name it");
        assertCategory(Category.GONE, () -> graph.hold(unknown, Duration.ofSeconds(1)), "unknown or already reclaimed");
        assertThat(graph.find(unknown)).isEmpty();
        GraphWriter writer = graph.writer();
        writer.close();
        assertCategory(Category.MISUSE, () -> writer.put(bytes("x")), "the writer is closed");
        assertCategory(Category.MISUSE, () -> graph.hold(unknown, Duration.ofDays(30)), "snapshot-lease = '30d'");
    }

    @Test
    void emptyValueIsAValue() {
        ValueId empty;
        try (GraphWriter writer = graph.writer()) {
            empty = writer.put(new byte[0]);
            graph.root("main").set(empty);
            graph.root("child").set(writer.put(bytes("p"), empty));
        }
        fixture.drain();
        assertThat(graph.find(empty))
                .hasValueSatisfying(bytes -> assertThat(bytes).isEmpty());
        graph.root("main").drop();
        graph.root("child").drop();
        fixture.drain();
        assertThat(graph.find(empty)).isEmpty();
    }

    private static void assertCategory(Category category, ThrowingCallable call, String message) {
        assertThatThrownBy(call).isInstanceOfSatisfying(HoldfastException.class, e -> {
            assertThat(e.category()).isEqualTo(category);
            assertThat(e.getMessage()).contains(message).doesNotContain("\n");
        });
    }
}
