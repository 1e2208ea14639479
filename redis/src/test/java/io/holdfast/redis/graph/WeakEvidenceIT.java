package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.buildTree;
import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.testkit.SharedRedis;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** The store contradicts what a caller believes, or itself: then nothing is handed over and nothing is freed. */
class WeakEvidenceIT {

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

    /** Only the other root holds the value: a parent that took over a hold that is not there would go with it. */
    @Test
    void holdThatTheWriterNoLongerHasIsNotHandedOver() {
        for (int children : new int[] {1, GraphWriter.MOST_EDGES + 1}) {
            GraphWriter writer = graph.writer();
            ValueId child = writer.put(bytes("child"));
            writer.flush();
            assertThat(redis.zrem(GraphFixture.key("held"), member(writer.lease(), child)))
                    .isOne();
            assertGone(() -> {
                writer.put(bytes("parent"), Collections.nCopies(children, child));
                writer.flush();
            });
            assertThat(redis.hget(GraphFixture.key("counts", child.raw()), child.raw()))
                    .isNull();
        }
    }

    @Test
    void moreReleasesThanHoldsFreeNothingAndAreCounted() {
        ValueId child;
        try (GraphWriter writer = graph.writer()) {
            child = writer.put(bytes("child"));
            graph.root("twice").set(writer.put(bytes("twice"), child, child, child));
            graph.root("main").set(writer.put(bytes("main"), child));
        }
        redis.hset(GraphFixture.key("counts", child.raw()), child.raw(), bytes("2"));
        graph.root("twice").drop();
        fixture.drain();
        assertThat(graph.find(child)).isPresent();
        assertThat(graph.inspect().statistics().miscounts()).isOne();
    }

    /** Else what it holds would be given up twice, and what others hold as well would go with it. */
    @Test
    void valueWhoseCountIsTooLowIsFreedOnceThoughACallMeetsItTwice() {
        Map<String, Runnable> ends = Map.of("dropped", () -> graph.root("main").drop(), "moved on", () -> {
            try (GraphWriter writer = graph.writer()) {
                graph.root("main").set(writer.put(bytes("next")));
            }
        });
        ends.forEach((how, end) -> {
            for (boolean siblings : new boolean[] {true, false}) {
                ValueId kept = miscounted(siblings);
                long before = graph.inspect().statistics().miscounts();
                end.run();
                fixture.drain();
                assertThat(graph.find(kept)).as("%s, %s", how, siblings).isPresent();
                assertThat(graph.inspect().statistics().miscounts())
                        .as("%s, %s", how, siblings)
                        .isEqualTo(before + 1);
            }
        });
    }

    /** Two values under a root have the same child, which is counted once; answers its child, which another root holds too. */
    private ValueId miscounted(boolean siblings) {
        ValueId kept;
        ValueId miscounted;
        try (GraphWriter writer = graph.writer()) {
            kept = writer.put(bytes("kept"));
            graph.root("other").set(writer.put(bytes("other"), kept));
            miscounted = writer.put(bytes("miscounted"), kept);
            ValueId near = writer.put(bytes("near"), miscounted);
            ValueId far = writer.put(bytes("far"), siblings ? miscounted : writer.put(bytes("farther"), miscounted));
            graph.root("main").set(writer.put(bytes("main"), near, far));
        }
        assertThat(redis.hget(GraphFixture.key("counts", miscounted.raw()), miscounted.raw()))
                .isEqualTo(bytes("2"));
        redis.hset(GraphFixture.key("counts", miscounted.raw()), miscounted.raw(), bytes("1"));
        return kept;
    }

    /** A hint is only a hint: the second one of the same step finds a value that goes already. */
    @Test
    void valueThatWasTakenBackAndDoomedAgainIsFreedOnce() {
        graph.destroy();
        try (GraphFixture content = new GraphFixture(
                server.uri().toString(), GraphFixture.with(GraphSettings.ADDRESSING, Addressing.CONTENT))) {
            ValueId shared;
            try (GraphWriter writer = content.graph.writer()) {
                shared = writer.put(bytes("shared"));
                content.graph.root("other").set(writer.put(bytes("other"), shared));
            }
            for (int time = 0; time < 2; time++) {
                try (GraphWriter writer = content.graph.writer()) {
                    content.graph.root("main").set(writer.put(bytes("main"), shared));
                    content.graph.root("main").drop();
                }
            }
            assertThat(redis.llen(GraphFixture.key("doomed"))).isEqualTo(2);
            content.drain();
            assertThat(content.graph.find(shared)).isPresent();
            assertThat(content.graph.inspect().statistics().miscounts()).isZero();
        }
    }

    /** Else nobody would know of them any more, but for verify. */
    @Test
    void whatIsToBeFreedIsNotForgottenWhereItsCountCannotBeRead() {
        ValueId top = buildTree(graph, "main", 3, 3);
        graph.root("main").drop();
        byte[] counts = GraphFixture.key("counts", top.raw());
        byte[] aside = GraphFixture.key("aside");
        redis.rename(counts, aside);
        redis.set(counts, bytes("not a hash"));
        assertThatThrownBy(() -> graph.scripts().step()).isInstanceOf(HoldfastException.class);
        redis.del(counts);
        redis.rename(aside, counts);
        assertThat(fixture.drain()).isEqualTo(13);
    }

    @Test
    void whatIsToBeFreedIsNotForgottenWhereTheCountsOfItsLeavesCannotBeRead() {
        ValueId top = buildTree(graph, "main", 3, 3);
        graph.root("main").drop();
        byte[] counts = GraphFixture.key("counts:" + (Shelves.of(top) + Shelves.LEAF));
        redis.set(counts, bytes("not a hash"));
        assertThatThrownBy(() -> graph.scripts().step()).isInstanceOf(HoldfastException.class);
        redis.del(counts);
        assertThat(fixture.drain()).isEqualTo(13);
    }

    @Test
    void whatCannotBeReadKeepsNothingElseFromBeingFreed() {
        byte[] elsewhere = new byte[16];
        elsewhere[Shelves.AT] = 9;
        byte[] counts = GraphFixture.key("counts", elsewhere);
        redis.set(counts, bytes("not a hash"));
        byte[] hint = hint('v', "Rroot main dropped", elsewhere);
        for (int time = 0; time < 3; time++) {
            buildTree(graph, "main", 3, 3);
            graph.root("main").drop();
            redis.rpush(GraphFixture.key("doomed"), hint);
        }
        for (int step = 0; step < 10; step++) {
            try {
                graph.scripts().step();
            } catch (HoldfastException e) {
                assertThat(e.category()).isEqualTo(Category.CORRUPT);
                assertThat(e).hasMessageContaining("WRONGTYPE");
            }
        }
        assertThat(GraphFixture.values(redis)).isEmpty();
        assertThat(GraphFixture.count(redis, "edges")).isZero();
        assertThat(redis.lrange(GraphFixture.key("doomed"), 0, -1)).containsExactly(hint, hint, hint);
        assertThatThrownBy(() -> graph.scripts().step()).isInstanceOf(HoldfastException.class);
        redis.del(counts);
        assertThat(fixture.drain()).isZero();
        assertThat(redis.llen(GraphFixture.key("doomed"))).isZero();
    }

    @Test
    void whatNobodyWroteIsTakenOffTheWorkListAndCounted() {
        buildTree(graph, "main", 3, 3);
        graph.root("main").drop();
        byte[][] strange = {
            {},
            {'v'},
            {'v', 3, 'R'},
            hint('v', "Rnothing", new byte[0]),
            hint('v', "Ran id and a half", new byte[24]),
            hint('v', "an unknown reason", new byte[16]),
            hint('v', "", new byte[16]),
            hint('x', "Ra kind of its own", new byte[16])
        };
        redis.rpush(GraphFixture.key("doomed"), strange);
        assertThat(fixture.drain()).isEqualTo(13);
        assertThat(redis.llen(GraphFixture.key("doomed"))).isZero();
        assertThat(graph.inspect().statistics().miscounts()).isEqualTo(strange.length);
    }

    private static byte[] hint(char kind, String cause, byte[] payload) {
        return ByteBuffer.allocate(2 + cause.length() + payload.length)
                .put((byte) kind)
                .put((byte) cause.length())
                .put(bytes(cause))
                .put(payload)
                .array();
    }

    /** A repeat that arrives when the lease it took is long over must not take it once more. */
    @Test
    void callThatTakesALeaseIsRefusedAfterTheTimeItIsMeantFor() {
        ValueId page = buildTree(graph, "main", 1, 0);
        long now = Long.parseLong(redis.time().getFirst()) * 1_000;
        byte[] lease = new byte[8];
        assertThat(graph.scripts()
                        .hold(lease, now - 1, 60_000, 'h', "somebody", page.raw())
                        .status())
                .isEqualTo("STALE");
        assertThat(redis.zcard(GraphFixture.key("held"))).isZero();
        assertThat(graph.scripts()
                        .hold(lease, now + 60_000, 60_000, 'h', "somebody", page.raw())
                        .status())
                .isEqualTo("OK");
    }

    private static byte[] member(GraphLease lease, ValueId id) {
        return ByteBuffer.allocate(8 + id.width()).put(lease.id()).put(id.raw()).array();
    }

    private static void assertGone(ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.GONE));
    }
}
