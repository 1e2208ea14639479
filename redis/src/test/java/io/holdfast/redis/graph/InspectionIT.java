package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.buildTree;
import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ReclaimReason;
import io.holdfast.ThingId;
import io.holdfast.Why;
import io.holdfast.testkit.Seeds;
import io.holdfast.testkit.SharedRedis;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** Statistics, why, preview, drawing, export and import, destroy. */
class InspectionIT {

    @RegisterExtension
    static final SharedRedis SERVER = SharedRedis.plain();

    private Jedis redis;
    private GraphFixture fixture;
    private ValueGraph graph;

    @BeforeEach
    void open() {
        redis = SERVER.client();
        fixture = new GraphFixture(
                SERVER.uri().toString(),
                GraphFixture.with(GraphSettings.SNAPSHOT_LEASE, Duration.ofMinutes(5))
                        .set(GraphSettings.WRITER_LEASE, Duration.ofMinutes(5)));
        graph = fixture.graph;
    }

    @AfterEach
    void close() {
        fixture.close();
        redis.close();
    }

    @Test
    void statisticsCountLargeValuesOnce() {
        buildTree(graph, "main", 3, 4);
        try (GraphWriter writer = graph.writer()) {
            graph.root("large").set(writer.put(new byte[1_000_000]));
        }
        try (Snapshot snapshot = graph.snapshot("main")) {
            GraphStatistics statistics = graph.inspect().statistics();
            assertThat(statistics.values()).isEqualTo(22);
            assertThat(statistics.largeValues()).isEqualTo(1);
            assertThat(statistics.edges()).isEqualTo(20);
            assertThat(statistics.roots()).isEqualTo(2);
            assertThat(statistics.leases()).isPositive();
            assertThat(statistics.memoryBytes()).isGreaterThan(1_000_000);
            assertThat(statistics.miscounts()).isZero();
            assertThat(snapshot.isValid()).isTrue();
        }
        graph.root("large").drop();
        assertThat(graph.inspect().statistics().doomed()).isPositive();
        fixture.drain();
        assertThat(graph.inspect().statistics())
                .satisfies(it -> assertThat(it.values()).isEqualTo(21))
                .satisfies(it -> assertThat(it.largeValues()).isZero())
                .satisfies(it -> assertThat(it.doomed()).isZero());
    }

    @Test
    void whyNamesTheShortestChainToARoot() {
        ValueId leaf;
        ValueId inner;
        ValueId top;
        try (GraphWriter writer = graph.writer()) {
            leaf = writer.put(bytes("leaf"));
            inner = writer.put(bytes("inner"), leaf);
            top = writer.put(bytes("top"), writer.put(bytes("longer way"), inner), inner);
            graph.root("main").set(top);
        }
        assertThat(why(leaf)).isInstanceOfSatisfying(Why.Alive.class, alive -> {
            assertThat(alive.chain())
                    .extracting(Why.Holder::name)
                    .containsExactly("value:docs/" + inner, "value:docs/" + top, "root:docs/main");
            assertThat(alive.chain())
                    .allSatisfy(holder -> assertThat(holder.deadline()).isEmpty());
        });
        assertThat(why(top))
                .isInstanceOfSatisfying(
                        Why.Alive.class,
                        alive -> assertThat(alive.chain())
                                .extracting(Why.Holder::name)
                                .containsExactly("root:docs/main"));
    }

    @Test
    void whyNamesALeaseAndItsDeadline() {
        ValueId leaf;
        try (GraphWriter writer = graph.writer()) {
            leaf = writer.put(bytes("leaf"));
            graph.root("main").set(writer.put(bytes("top"), leaf));
            Snapshot snapshot = graph.snapshot("main");
            graph.root("main").drop();
            assertThat(why(leaf)).isInstanceOfSatisfying(Why.Alive.class, alive -> {
                assertThat(alive.chain().getFirst().name()).isEqualTo("value:docs/" + snapshot.target());
                assertThat(alive.chain().getLast().name()).startsWith("snapshot of test#");
                assertThat(alive.chain().getLast().deadline()).isPresent();
            });
            assertThat(why(writer.put(bytes("mine"))))
                    .isInstanceOfSatisfying(
                            Why.Alive.class,
                            alive -> assertThat(alive.chain().getLast().name()).startsWith("writer test#"));
        }
    }

    @Test
    void whyOfWhatIsGoneIsItsRecordAndOfTheRestUnknown() {
        ValueId top = buildTree(graph, "main", 5, 6);
        ValueId inner = graph.children(top).getFirst();
        assertThat(graph.inspect().whyRoot("main")).isInstanceOf(Why.Alive.class);
        graph.root("main").drop();
        assertThat(why(top)).isInstanceOf(Why.Doomed.class);
        fixture.drain();
        assertThat(why(inner))
                .isInstanceOfSatisfying(
                        Why.Gone.class,
                        gone -> assertThat(gone.record().evidence()).isEqualTo("root main dropped"));
        assertThat(graph.inspect().whyRoot("main"))
                .isInstanceOfSatisfying(
                        Why.Gone.class,
                        gone -> assertThat(gone.record().reason()).isEqualTo(ReclaimReason.RELEASED));
        assertThat(why(ValueId.parse("00".repeat(16)))).isInstanceOf(Why.Unknown.class);
        assertThat(graph.inspect().whyRoot("never")).isInstanceOf(Why.Unknown.class);
    }

    private Why why(ValueId id) {
        return graph.inspect().why(id, GraphProgress.NONE);
    }

    /** What preview says is what drop then frees, for graphs of any shape. */
    @Test
    void previewSaysWhatADropFrees() {
        Seeds.of(5).run((seed, random) -> {
            SERVER.server().flush();
            try (GraphFixture fresh = new GraphFixture(SERVER.uri().toString(), fixture.settings)) {
                List<ValueId> made = new ArrayList<>();
                Map<ValueId, Integer> sizes = new HashMap<>();
                try (GraphWriter writer = fresh.graph.writer()) {
                    for (int i = 0; i < 60; i++) {
                        List<ValueId> children = new ArrayList<>();
                        for (int c = random.nextInt(4); c > 0 && !made.isEmpty(); c--) {
                            children.add(made.get(random.nextInt(made.size())));
                        }
                        byte[] value = new byte[random.nextInt(10) == 0 ? 300_000 : random.nextInt(50)];
                        ValueId id = writer.put(value, children);
                        made.add(id);
                        sizes.put(id, value.length);
                        if (random.nextInt(6) == 0) {
                            fresh.graph.root("root-" + i).set(id);
                        }
                    }
                }
                fresh.drain();
                for (String root : fresh.graph.roots().keySet()) {
                    List<ValueId> before = present(fresh.graph, made);
                    Preview preview = fresh.graph.inspect().preview(root, GraphProgress.NONE);
                    fresh.graph.root(root).drop();
                    fresh.drain();
                    List<ValueId> freed = new ArrayList<>(before);
                    freed.removeAll(present(fresh.graph, made));
                    assertThat(preview.values()).isEqualTo(freed.size());
                    assertThat(preview.bytes())
                            .isEqualTo(freed.stream().mapToLong(sizes::get).sum());
                }
            }
        });
    }

    private static List<ValueId> present(ValueGraph graph, List<ValueId> ids) {
        return new ArrayList<>(graph.findAll(ids).keySet());
    }

    @Test
    void previewOfARootThatIsNotThereIsGone() {
        assertGone(() -> graph.inspect().preview("none", GraphProgress.NONE));
    }

    @Test
    void drawingIsCutWhereItIsToldToAndSaysSo() throws IOException {
        buildTree(graph, "ma\"in", 3, 3);
        StringBuilder whole = new StringBuilder();
        assertThat(graph.inspect().dot("ma\"in", 100, whole)).isEqualTo(13);
        assertThat(whole)
                .startsWith("digraph \"docs\" {")
                .endsWith("}\n")
                .contains("ma\\\"in")
                .doesNotContain("more");
        assertThat(whole.toString().lines().filter(line -> line.contains(" -> ")))
                .hasSize(13);
        StringBuilder cut = new StringBuilder();
        assertThat(graph.inspect().dot("ma\"in", 5, cut)).isEqualTo(5);
        assertThat(cut).contains("… 2 more", "… 3 more");
    }

    @Test
    void exportedGraphIsImportedWithItsSharingAndItsLargeValues() throws IOException {
        byte[] large = new byte[700_000];
        Seeds.random(3).nextBytes(large);
        try (GraphWriter writer = graph.writer()) {
            ValueId shared = writer.put(bytes("shared"));
            ValueId wide = writer.put(large, java.util.Collections.nCopies(400, shared));
            ValueId deep = shared;
            for (int i = 0; i < 500; i++) {
                deep = writer.put(bytes("level " + i), deep);
            }
            graph.root("main").set(writer.put(new byte[0], wide, deep, shared, wide));
        }
        byte[] file = exported("main");
        assertThat(graph.importFrom(new ByteArrayInputStream(file), "copy", GraphProgress.NONE))
                .isEqualTo(503);
        try (Snapshot original = graph.snapshot("main");
                Snapshot copy = graph.snapshot("copy")) {
            assertThat(copy.target()).isNotEqualTo(original.target());
            assertSame(original, copy);
        }
        assertThat(exported("copy"))
                .as("a graph has one export, but for the name")
                .hasSize(file.length);
        fixture.drain();
        assertThat(graph.inspect().verify(GraphProgress.NONE).isSound()).isTrue();
        graph.root("main").drop();
        graph.root("copy").drop();
        GraphFixture.lapseAll(redis);
        fixture.drain();
        assertThat(GraphFixture.count(redis, "values")).isZero();
    }

    private byte[] exported(String root) throws IOException {
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        graph.exportTo(file, root, GraphProgress.NONE);
        return file.toByteArray();
    }

    /** Walks both side by side. */
    private static void assertSame(Snapshot one, Snapshot other) {
        Map<ValueId, ValueId> same = new HashMap<>(Map.of(one.target(), other.target()));
        List<ValueId> open = new ArrayList<>(List.of(one.target()));
        while (!open.isEmpty()) {
            ValueId id = open.removeLast();
            ValueId twin = Objects.requireNonNull(same.get(id));
            assertThat(other.get(twin)).isEqualTo(one.get(id));
            List<ValueId> children = one.children(id);
            List<ValueId> twins = other.children(twin);
            assertThat(twins).hasSameSizeAs(children);
            for (int i = 0; i < children.size(); i++) {
                ValueId known = same.putIfAbsent(children.get(i), twins.get(i));
                if (known == null) {
                    open.add(children.get(i));
                } else {
                    assertThat(twins.get(i)).isEqualTo(known);
                }
            }
        }
    }

    @Test
    void exportOfOneKindOfIdsIsImportedIntoTheOther() throws IOException {
        buildTree(graph, "main", 4, 3);
        byte[] file = exported("main");
        SERVER.server().flush();
        try (GraphFixture content = new GraphFixture(
                SERVER.uri().toString(), GraphFixture.with(GraphSettings.ADDRESSING, Addressing.CONTENT))) {
            content.graph.importFrom(new ByteArrayInputStream(file), "main", GraphProgress.NONE);
            assertThat(content.graph.inspect().statistics().values())
                    .as("equal subtrees are one")
                    .isEqualTo(4);
            assertThat(content.graph.inspect().verify(GraphProgress.NONE).isSound())
                    .isTrue();
        }
    }

    /** Every byte of a file, and every length of it. */
    @Test
    void damagedFileIsRefusedAndNothingOfItStays() throws IOException {
        buildTree(graph, "main", 2, 3);
        byte[] file = exported("main");
        long values = GraphFixture.count(redis, "values");
        for (int i = 0; i < file.length; i++) {
            byte[] damaged = file.clone();
            damaged[i] ^= 0x11;
            assertRefused(damaged, "byte " + i);
            assertRefused(Arrays.copyOf(file, i), "cut at " + i);
        }
        fixture.drain();
        assertThat(GraphFixture.count(redis, "values")).isEqualTo(values);
        assertThat(graph.roots()).containsOnlyKeys("main");
    }

    private void assertRefused(byte[] file, String how) {
        assertThatThrownBy(() -> graph.importFrom(new ByteArrayInputStream(file), "copy", GraphProgress.NONE))
                .as(how)
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isIn(Category.CORRUPT, Category.MISUSE));
    }

    @Test
    void destroyedGraphAnswersGoneAndItsLedgerSaysWhy() {
        ValueId top = buildTree(graph, "main", 3, 3);
        GraphWriter writer = graph.writer();
        ThingId root = new ThingId(ThingId.Kind.ROOT, "docs", "main");
        ThingId life = new ThingId(ThingId.Kind.GRAPH, "docs", graph.incarnation());
        graph.destroy();
        assertThat(redis.keys("hf:*")).containsExactly("hf:{graph:docs:0}:ledger");
        assertGone(() -> graph.hold(top, Duration.ofSeconds(1)));
        assertGone(() -> graph.root("main").set(top));
        assertGone(() -> {
            writer.put(bytes("late"));
            writer.flush();
        });
        assertGone(graph::destroy);
        assertThat(ValueGraph.existing(fixture.link, "docs")).isEmpty();
        assertThat(graph.ledger().find(root))
                .hasValueSatisfying(it -> assertThat(it.reason()).isEqualTo(ReclaimReason.DESTROYED));
        assertThat(graph.ledger().find(life)).isPresent();
        assertThat(ValueGraph.whyGone(fixture.link, root)).isInstanceOf(Why.Gone.class);
    }

    @Test
    void lateDestroyDoesNotEndTheNextLifeOfAGraph() {
        graph.destroy();
        try (GraphFixture next = new GraphFixture(SERVER.uri().toString(), fixture.settings)) {
            buildTree(next.graph, "main", 2, 2);
            assertGone(graph::destroy);
            assertThat(next.graph.roots()).containsOnlyKeys("main");
            assertThat(ValueGraph.existing(fixture.link, "docs")).contains(Addressing.TIME);
        }
    }

    private static void assertGone(org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.GONE));
    }
}
