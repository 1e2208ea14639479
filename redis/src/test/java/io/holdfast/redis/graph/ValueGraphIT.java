package io.holdfast.redis.graph;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ReclaimReason;
import io.holdfast.Settings;
import io.holdfast.ThingId;
import io.holdfast.testkit.RedisServer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

class ValueGraphIT {

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
        fixture = new GraphFixture(server.uri().toString(), Settings.none());
        graph = fixture.graph;
    }

    @AfterEach
    void close() {
        fixture.close();
        redis.close();
    }

    @Test
    void whatARootHoldsIsThereWithItsChildren() {
        ValueId leaf;
        ValueId page;
        try (GraphWriter writer = graph.writer()) {
            leaf = writer.put(bytes("leaf"));
            page = writer.put(bytes("page"), leaf);
            graph.root("main").set(page);
        }
        fixture.drain();
        try (Snapshot snapshot = graph.snapshot("main")) {
            assertThat(snapshot.target()).isEqualTo(page);
            assertThat(snapshot.get(page)).isEqualTo(bytes("page"));
            assertThat(snapshot.children(page)).containsExactly(leaf);
            assertThat(snapshot.get(leaf)).isEqualTo(bytes("leaf"));
            assertThat(snapshot.walk()).containsExactly(page, leaf);
        }
        assertThat(graph.roots()).isEqualTo(Map.of("main", page));
    }

    @Test
    void droppingTheLastRootReclaimsEverything() {
        buildTree(graph, "main", 4, 5);
        assertThat(GraphFixture.count(redis, "values")).isEqualTo(1 + 5 + 25 + 125);
        assertThat(graph.root("main").drop()).isTrue();
        assertThat(fixture.drain()).isEqualTo(156);
        assertNothingLeft();
        assertThat(graph.root("main").drop()).isFalse();
    }

    @Test
    void movingARootReclaimsOnlyWhatTheNewOneDoesNotShare() {
        ValueId shared;
        try (GraphWriter writer = graph.writer()) {
            shared = writer.put(bytes("shared"));
            ValueId old = writer.put(bytes("old"), shared, writer.put(bytes("only old")));
            graph.root("main").set(old);
            graph.root("main").set(writer.put(bytes("new"), shared));
        }
        fixture.drain();
        assertThat(graph.inspect().statistics().values()).isEqualTo(2);
        assertThat(graph.find(shared)).isPresent();
        graph.root("main").drop();
        fixture.drain();
        assertNothingLeft();
    }

    /** The bytes of a batch stand beside its script: where that does not run or refuses, they are in nobody's way. */
    @Test
    void batchWhoseScriptIsUnknownOrRefusesLeavesNoBytesBehind() {
        byte[] beside = new byte[PutRequest.FEW_BYTES + 1];
        try (GraphWriter writer = graph.writer()) {
            graph.root("main").set(writer.put(bytes("known"), writer.put(beside)));
            redis.scriptFlush();
            graph.root("main").set(writer.put(bytes("new to the server"), writer.put(beside)));
        }
        ValueId doomed;
        try (GraphWriter writer = graph.writer()) {
            doomed = writer.put(bytes("released with its writer"));
        }
        fixture.drain();
        GraphWriter refused = graph.writer();
        refused.put(beside, doomed);
        assertThatThrownBy(refused::flush)
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.GONE));
        assertThat(GraphFixture.values(redis)).hasSize(2).contains(bytes("new to the server"));
        assertThat(redis.exists("hf:{graph:docs:0}:incoming")).isFalse();
    }

    @Test
    void rootNamesWhatTheWriterHasNotSentThoughTheServerHasForgottenTheScripts() {
        GraphWriter writer = graph.writer();
        graph.root("main").set(writer.put(bytes("first")));
        for (int i = 0; i < 3; i++) {
            ValueId top = writer.put(bytes("top"), writer.put(bytes("leaf")));
            redis.scriptFlush();
            graph.root("main").set(top);
            assertThat(graph.root("main").target()).hasValue(top);
        }
        assertThat(redis.zcard(GraphFixture.key("held")))
                .as("holds that the writer did not hand over")
                .isZero();
        fixture.drain();
        assertThat(GraphFixture.count(redis, "values")).isEqualTo(2);
        graph.root("main").drop();
        assertNothingLeft();
    }

    @Test
    void rootDoesNotNameWhatIsRefusedWithItsBatch() {
        GraphWriter writer = graph.writer();
        ValueId first = writer.put(bytes("first"));
        graph.root("main").set(first);
        ValueId gone = ValueId.parse("00".repeat(16));
        ValueId top = writer.put(bytes("top"), gone);
        assertThatThrownBy(() -> graph.root("main").set(top)).hasMessageContaining(gone.toString());
        assertThat(graph.root("main").target()).hasValue(first);
        graph.root("main").drop();
        assertNothingLeft();
    }

    @Test
    void writerThatHasLapsedKeepsNobodyFromTheSameContent() {
        server.flush();
        try (GraphFixture other = new GraphFixture(
                server.uri().toString(), GraphFixture.with(GraphSettings.ADDRESSING, Addressing.CONTENT))) {
            for (int i = 0; i < 8; i++) { // whichever of the two writers is asked first
                byte[] content = bytes("content " + i);
                lapsedWriter(other.graph).put(content);
                ValueId id = other.graph.writer().put(content);
                other.graph.root("root " + i).set(id);
                assertThat(other.graph.root("root " + i).target()).hasValue(id);

                byte[] more = bytes("more " + i);
                lapsedWriter(other.graph).put(more);
                ValueId held = other.graph.writer().put(more);
                assertThat(other.graph.hold(held, Duration.ofMinutes(1)).target())
                        .isEqualTo(held);
            }
        }
    }

    private GraphWriter lapsedWriter(ValueGraph graph) {
        GraphWriter writer = graph.writer();
        redis.zadd(GraphFixture.key("leases"), 1, writer.lease().id());
        return writer;
    }

    @Test
    void writerThatDiesLeavesNothingBehind() {
        GraphWriter writer = graph.writer();
        for (int i = 0; i < 1_000; i++) {
            writer.put(bytes("v" + i));
        }
        writer.flush();
        assertThat(GraphFixture.count(redis, "values")).isEqualTo(1_000);
        GraphFixture.lapseAll(redis);
        assertThat(fixture.drain()).isEqualTo(1_000);
        assertNothingLeft();
        assertThatThrownBy(() -> {
                    writer.put(bytes("late"));
                    writer.flush();
                })
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.LAPSED));
    }

    @Test
    void manyLeasesThatLapseAtOnceAreReclaimedWithoutAPause() {
        for (int i = 0; i < 100; i++) {
            GraphWriter writer = graph.writer();
            writer.put(bytes("of writer " + i));
            writer.flush();
        }
        GraphFixture.lapseAll(redis);
        assertThat(fixture.drain()).isEqualTo(100);
        assertNothingLeft();
    }

    @Test
    void closingAWriterReleasesWhatNothingElseHolds() {
        ValueId kept;
        try (GraphWriter writer = graph.writer()) {
            kept = writer.put(bytes("kept"));
            writer.put(bytes("not kept"));
            graph.root("main").set(kept);
        }
        assertThat(fixture.drain()).isLessThanOrEqualTo(1);
        assertThat(GraphFixture.count(redis, "values")).isEqualTo(1);
        assertThat(graph.find(kept)).isPresent();
    }

    @Test
    void snapshotKeepsWhatTheRootNoLongerNames() {
        ValueId page = buildTree(graph, "main", 3, 3);
        try (Snapshot snapshot = graph.snapshot("main")) {
            graph.root("main").drop();
            assertThat(fixture.drain()).isZero();
            assertThat(snapshot.walk()).hasSize(13);
            assertThat(snapshot.get(page)).isNotEmpty();
        }
        assertThat(fixture.drain()).isLessThanOrEqualTo(13);
        fixture.drain();
        assertThat(GraphFixture.count(redis, "values")).isZero();
    }

    @Test
    void holdOnAnInnerValueKeepsItsSubtree() {
        buildTree(graph, "main", 3, 3);
        ValueId inner =
                graph.children(graph.root("main").target().orElseThrow()).getFirst();
        Hold hold = graph.hold(inner, Duration.ofSeconds(30));
        graph.root("main").drop();
        fixture.drain();
        assertThat(GraphFixture.count(redis, "values")).isEqualTo(4);
        hold.close();
        fixture.drain();
        assertThat(GraphFixture.count(redis, "values")).isZero();
    }

    @Test
    void valueWithManyChildrenAndLargeBytesIsWrittenReadAndReclaimed() {
        ValueId large;
        List<ValueId> children = new ArrayList<>();
        byte[] bytes = new byte[1_000_000];
        new java.util.Random(7).nextBytes(bytes);
        try (GraphWriter writer = graph.writer()) {
            for (int i = 0; i < 1_000; i++) {
                children.add(writer.put(bytes("child " + i)));
            }
            children.add(children.getFirst());
            large = writer.put(bytes, children);
            graph.root("main").set(large);
        }
        fixture.drain();
        assertThat(graph.find(large)).contains(bytes);
        assertThat(graph.children(large)).isEqualTo(children);
        graph.root("main").drop();
        assertThat(fixture.drain()).isEqualTo(1_001);
        assertNothingLeft();
    }

    @Test
    void ledgerSaysWhyAValueAndARootAreGone() {
        ValueId page = buildTree(graph, "main", 2, 2);
        graph.root("main").drop();
        fixture.drain();
        assertThat(graph.ledger().find(new ThingId(ThingId.Kind.VALUE, "docs", page.toString())))
                .hasValueSatisfying(record -> {
                    assertThat(record.reason()).isEqualTo(ReclaimReason.RELEASED);
                    assertThat(record.evidence()).isEqualTo("root main dropped");
                });
        assertThat(graph.ledger().find(new ThingId(ThingId.Kind.ROOT, "docs", "main")))
                .hasValueSatisfying(record -> assertThat(record.reason()).isEqualTo(ReclaimReason.RELEASED));
    }

    /** A step frees whole families, and writes down each by itself. */
    @Test
    void ledgerAndListenersHaveEveryValueThatWasFreedOnce() {
        buildTree(graph, "main", 4, 10);
        List<String> stored = GraphFixture.entries(redis, "values").stream()
                .map(entry -> ValueId.of(entry.getKey()).toString())
                .toList();
        List<String> heard = new ArrayList<>();
        fixture.notices.add(reclaimed -> heard.addAll(reclaimed.ids()));
        graph.root("main").drop();
        CascadeDuty duty = fixture.cascade();
        while (redis.llen(GraphFixture.key("doomed")) > 0) {
            duty.step();
        }
        List<String> written = graph.ledger().since(Instant.EPOCH, 10_000).stream()
                .filter(record -> record.kind() == ThingId.Kind.VALUE)
                .flatMap(record -> record.ids().stream())
                .toList();
        assertThat(stored).hasSize(1_111);
        assertThat(written).containsExactlyInAnyOrderElementsOf(stored);
        assertThat(heard).containsExactlyInAnyOrderElementsOf(stored);
    }

    @Test
    void compareAndSetLosesToANewerRootAndHandsOutASnapshotOfIt() {
        try (GraphWriter writer = graph.writer()) {
            Root root = graph.root("main");
            ValueId first = writer.put(bytes("first"));
            assertThat(root.compareAndSet(root.read(), first)).isEmpty();
            Root.State seen = root.read();
            ValueId second = writer.put(bytes("second"));
            root.set(second);
            assertThat(root.compareAndSet(seen, writer.put(bytes("third"))))
                    .hasValueSatisfying(winner -> assertThat(winner.target()).isEqualTo(second));
        }
    }

    static ValueId buildTree(ValueGraph graph, String root, int levels, int fanOut) {
        try (GraphWriter writer = graph.writer()) {
            ValueId top = subtree(writer, levels, fanOut);
            graph.root(root).set(top);
            return top;
        }
    }

    private static ValueId subtree(GraphWriter writer, int levels, int fanOut) {
        List<ValueId> children = new ArrayList<>();
        for (int i = 0; i < fanOut && levels > 1; i++) {
            children.add(subtree(writer, levels - 1, fanOut));
        }
        return writer.put(bytes("level " + levels), children);
    }

    private void assertNothingLeft() {
        GraphFixture.lapseAll(redis);
        fixture.drain();
        assertThat(GraphFixture.parts(redis))
                .allSatisfy((part, size) -> assertThat(size).as(part).isZero());
        assertThat(redis.hget(GraphFixture.key("meta"), "edges".getBytes(UTF_8)))
                .isEqualTo(bytes("0"));
        assertThat(redis.hexists(GraphFixture.key("meta"), "miscounts".getBytes(UTF_8)))
                .isFalse();
    }

    static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }
}
