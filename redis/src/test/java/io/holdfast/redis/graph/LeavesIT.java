package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.buildTree;
import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.Settings;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisMonitor;

/** Leaves have their counts apart: where there are none, they go without being asked for, and nothing else goes with them. */
class LeavesIT {

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
    void leavesThatAreHeldOnceAreFreedWithoutBeingAskedFor() {
        buildTree(graph, "main", 3, 10);
        assertThat(countsOfLeaves()).isZero();
        graph.root("main").drop();
        assertThat(asksForLeaves(fixture::drain)).isEmpty();
        assertNothingIsLeft();
    }

    @Test
    void leavesOfAShelfWhereOneIsHeldTwiceAreAskedFor() {
        buildTree(graph, "main", 3, 10);
        try (GraphWriter writer = graph.writer()) {
            ValueId leaf = writer.put(bytes("leaf"));
            graph.root("other").set(writer.put(bytes("other"), leaf, leaf));
        }
        graph.root("main").drop();
        assertThat(asksForLeaves(fixture::drain)).isNotEmpty();
        assertThat(graph.inspect().statistics().values()).isEqualTo(2);
        assertSound();
    }

    @Test
    void countsOfLeavesGoWithTheirGraph() {
        for (int shelf = 0; shelf < Shelves.COUNT; shelf++) {
            graph.shelves().moveTo(shelf);
            try (GraphWriter writer = graph.writer()) {
                ValueId leaf = writer.put(bytes("leaf"));
                graph.root("r" + shelf).set(writer.put(bytes("parent"), leaf, leaf));
            }
        }
        assertThat(countsOfLeaves()).isEqualTo(Shelves.COUNT);
        assertSound();
        graph.destroy();
        assertThat(countsOfLeaves()).isZero();
        assertNothingIsLeft();
    }

    @Test
    void leafThatAnotherParentHoldsOutlivesItsFamily() {
        List<ValueId> leaves = family("first");
        try (GraphWriter writer = graph.writer()) {
            graph.root("second").set(writer.put(bytes("second"), leaves.get(3)));
        }
        assertThat(countsOfLeaves()).isEqualTo(1);
        graph.root("first").drop();
        fixture.drain();
        assertThat(graph.findAll(leaves).keySet()).containsExactly(leaves.get(3));
        assertSound();
        graph.root("second").drop();
        fixture.drain();
        assertNothingIsLeft();
    }

    /** Else what was shared once would be looked up, and take memory, for as long as it lives. */
    @Test
    void leafThatIsHeldOnceAgainNeedsNoCountAnyLonger() {
        List<ValueId> leaves = family("first");
        try (GraphWriter writer = graph.writer()) {
            graph.root("second").set(writer.put(bytes("second"), leaves));
        }
        Hold hold = graph.hold(leaves.getFirst(), Duration.ofMinutes(1));
        assertThat(countsOfLeaves()).isEqualTo(10);
        graph.root("first").drop();
        fixture.drain();
        assertThat(countsOfLeaves())
                .as("held by the second, and one by a lease")
                .isEqualTo(1);
        assertThat(graph.findAll(leaves)).hasSize(10);
        assertSound();
        hold.close();
        fixture.drain();
        assertThat(countsOfLeaves()).isZero();
        assertSound();
        graph.root("second").drop();
        fixture.drain();
        assertNothingIsLeft();
    }

    @Test
    void leafThatIsHeldByNameOrLeaseOutlivesItsFamily() {
        List<ValueId> leaves = family("first");
        Hold hold = graph.hold(leaves.get(0), Duration.ofMinutes(1));
        graph.root("leaf").set(leaves.get(9));
        graph.root("first").drop();
        fixture.drain();
        assertThat(graph.findAll(leaves).keySet()).containsExactlyInAnyOrder(leaves.get(0), leaves.get(9));
        assertSound();
        hold.close();
        graph.root("leaf").drop();
        fixture.drain();
        assertThat(graph.findAll(leaves)).isEmpty();
    }

    /** Its values are on the same shelf, and its count is elsewhere. */
    @Test
    void valueWithChildrenAmongLeavesKeepsItsHolds() {
        ValueId first;
        ValueId between;
        ValueId last;
        try (GraphWriter writer = graph.writer()) {
            first = writer.put(bytes("first"));
            between = writer.put(bytes("between"), writer.put(bytes("below")));
            last = writer.put(bytes("last"));
            graph.root("family").set(writer.put(bytes("family"), first, between, last));
            graph.root("other").set(writer.put(bytes("other"), between));
        }
        assertThat(countsOfLeaves()).isZero();
        graph.root("family").drop();
        fixture.drain();
        assertThat(graph.findAll(List.of(first, between, last)).keySet()).containsExactly(between);
        assertThat(graph.children(between)).hasSize(1);
        assertSound();
        graph.root("other").drop();
        fixture.drain();
        assertNothingIsLeft();
    }

    /** Counts that were lost are no evidence against a leaf that stands between those that lost them. */
    @Test
    void leafAmongValuesThatLostTheirCountsKeepsItsHolds() {
        ValueId first;
        ValueId leaf;
        ValueId last;
        try (GraphWriter writer = graph.writer()) {
            first = writer.put(bytes("first"), writer.put(bytes("below the first")));
            leaf = writer.put(bytes("leaf"));
            last = writer.put(bytes("last"), writer.put(bytes("below the last")));
            graph.root("family").set(writer.put(bytes("family"), first, leaf, last));
            graph.root("other").set(writer.put(bytes("other"), leaf));
        }
        for (ValueId lost : List.of(first, last)) {
            assertThat(redis.hdel(GraphFixture.key("counts", lost.raw()), lost.raw()))
                    .isEqualTo(1);
        }
        graph.root("family").drop();
        fixture.drain();
        assertThat(graph.find(leaf)).isPresent();
        graph.root("other").drop();
        fixture.drain();
        assertThat(graph.find(leaf)).isEmpty();
    }

    /** Each gets its new hold where its count is, whatever stands beside it in the list. */
    @Test
    void parentTakesHoldOfLeavesAndOthersAlike() {
        try (GraphWriter writer = graph.writer()) {
            ValueId first = writer.put(bytes("first"));
            ValueId between = writer.put(bytes("between"), writer.put(bytes("below")));
            ValueId last = writer.put(bytes("last"));
            for (List<ValueId> children :
                    List.of(List.of(first, between, last), List.of(between, first, between), List.of(last, last))) {
                writer.flush();
                graph.root("r" + children.hashCode()).set(writer.put(bytes("parent"), children));
            }
        }
        fixture.drain();
        assertSound();
        for (String root : List.copyOf(graph.roots().keySet())) {
            graph.root(root).drop();
            fixture.drain();
            assertSound();
        }
        assertNothingIsLeft();
    }

    @Test
    void leafThatIsTwiceInTheListsOfABatchGoesWithTheLastOfThem() {
        ValueId leaf;
        try (GraphWriter writer = graph.writer()) {
            leaf = writer.put(bytes("leaf"));
            graph.root("twice").set(writer.put(bytes("twice"), leaf, leaf));
            graph.root("once").set(writer.put(bytes("once"), writer.put(bytes("another"), leaf), leaf));
        }
        graph.root("twice").drop();
        fixture.drain();
        assertThat(graph.find(leaf)).isPresent();
        assertSound();
        graph.root("once").drop();
        fixture.drain();
        assertNothingIsLeft();
    }

    /** Ten leaves in a row under one parent. */
    private List<ValueId> family(String root) {
        try (GraphWriter writer = graph.writer()) {
            List<ValueId> leaves = IntStream.range(0, 10)
                    .mapToObj(i -> writer.put(bytes("leaf " + i)))
                    .toList();
            graph.root(root).set(writer.put(bytes(root), leaves));
            return leaves;
        }
    }

    private long countsOfLeaves() {
        return IntStream.range(Shelves.COUNT, Shelves.COUNT + Shelves.LEAF)
                .mapToLong(place -> redis.hlen(GraphFixture.key("counts:" + place)))
                .sum();
    }

    /** What scripts ask of the counts of leaves on the first shelf while something is done. */
    private List<String> asksForLeaves(Runnable work) {
        List<String> seen = new CopyOnWriteArrayList<>();
        try (Jedis watching = server.client()) {
            Thread monitor = Thread.ofVirtual()
                    .start(() -> watching.monitor(new JedisMonitor() {
                        @Override
                        public void onCommand(String command) {
                            seen.add(command);
                        }
                    }));
            await().until(() -> redis.ping().equals("PONG") && !seen.isEmpty());
            work.run();
            redis.echo("the end");
            await().until(() -> seen.stream().anyMatch(command -> command.contains("the end")));
            monitor.interrupt();
        }
        return seen.stream()
                .filter(command -> command.contains("\"HMGET\"") && command.contains(":counts:" + Shelves.LEAF + "\""))
                .toList();
    }

    private void assertSound() {
        VerifyReport report = graph.inspect().verify(GraphProgress.NONE);
        assertThat(report.findings()).isEmpty();
        assertThat(report.isSound()).isTrue();
    }

    private void assertNothingIsLeft() {
        assertThat(GraphFixture.parts(redis))
                .containsEntry("values", 0L)
                .containsEntry("counts", 0L)
                .containsEntry("edges", 0L);
    }
}
