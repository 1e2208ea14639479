package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.buildTree;
import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.testkit.RedisServer;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** A mark pauses freeing, and whoever scans under it learns when it did not. */
class GraphMarkIT {

    @RegisterExtension
    static final SharedRedis REDIS = SharedRedis.plain();

    private static final GraphProgress QUIETLY = (phase, done, total) -> {};

    private GraphFixture fixture;
    private ValueGraph graph;

    @BeforeEach
    void open() {
        fixture = new GraphFixture(
                REDIS.uri().toString(), GraphFixture.with(GraphSettings.MARK_LEASE, Duration.ofSeconds(20)));
        graph = fixture.graph;
    }

    @AfterEach
    void close() {
        fixture.close();
    }

    /** The incident: a name is taken over behind the cursor, and what had it goes ahead of the cursor. */
    @Test
    void whatIsReleasedDuringAScanIsStillMet() throws Exception {
        List<ValueId> leaves = new ArrayList<>();
        try (GraphWriter writer = graph.writer()) {
            for (int i = 0; i < 2_000; i++) {
                ValueId leaf = writer.put(bytes("piece " + i));
                graph.root("leaf" + i).set(leaf);
                leaves.add(leaf);
            }
        }
        buildTree(graph, "main", 2, 10);
        Set<ValueId> met = new HashSet<>();
        try (GraphMark mark = graph.mark()) {
            mark.scan(
                    (id, value) -> {
                        if (met.isEmpty()) {
                            for (int i = 0; i < leaves.size(); i++) {
                                graph.root("leaf" + i).drop();
                            }
                            graph.root("main").drop();
                            assertThat(fixture.drain()).isZero();
                        }
                        met.add(id);
                    },
                    QUIETLY);
        }
        assertThat(met).containsAll(leaves).hasSize(2_011);
        assertThat(fixture.drain()).isEqualTo(2_011);
        assertThat(graph.inspect().verify(QUIETLY).isSound()).isTrue();
    }

    @Test
    void doomedValuesAreTakenBackDuringAMark() throws Exception {
        fixture.close();
        Settings content = GraphFixture.with(GraphSettings.ADDRESSING, Addressing.CONTENT);
        try (Jedis jedis = REDIS.client()) {
            jedis.flushAll();
        }
        fixture = new GraphFixture(REDIS.uri().toString(), content);
        graph = fixture.graph;
        try (GraphWriter writer = graph.writer();
                GraphMark mark = graph.mark()) {
            ValueId first = writer.put(bytes("same"));
            graph.root("a").set(first);
            graph.root("a").drop();
            assertThat(graph.find(first)).isPresent();
            ValueId second = writer.put(bytes("same"));
            graph.root("b").set(second);
            mark.scan((id, value) -> {}, QUIETLY);
            assertThat(second).isEqualTo(first);
        }
        assertThat(fixture.drain()).isZero();
        assertThat(graph.inspect().verify(QUIETLY).isSound()).isTrue();
    }

    @Test
    void aLargeValueIsHandedOverWholeAndOneThatIsBeingWrittenIsWaitedFor() throws Exception {
        byte[] large = new byte[700 << 10];
        large[600 << 10] = 7;
        try (GraphWriter writer = graph.writer()) {
            ValueId id = writer.put(large);
            graph.root("main").set(id);
            List<byte[]> met = new ArrayList<>();
            try (Jedis jedis = REDIS.client();
                    GraphMark mark = graph.mark()) {
                byte[] counts = GraphFixture.key("counts", id.raw());
                byte[] sealed = jedis.hget(counts, id.raw());
                jedis.hset(counts, id.raw(), bytes("b|3,0|12345678"));
                Thread sealing = Thread.ofVirtual().start(() -> {
                    await().pollDelay(Duration.ofMillis(200)).until(() -> true);
                    jedis.hset(counts, id.raw(), sealed);
                });
                mark.scan((value, bytes) -> met.add(bytes), QUIETLY);
                sealing.join();
            }
            assertThat(met).singleElement().isEqualTo(large);
        }
    }

    @Test
    void thereIsOneMarkAtATimeAndThatOfTheDeadIsOverAfterItsLease() throws Exception {
        GraphMark abandoned = graph.mark();
        assertRefused(Category.RETRY, graph::mark);
        lapse();
        try (GraphMark next = graph.mark()) {
            assertRefused(Category.LAPSED, () -> abandoned.scan((id, value) -> {}, QUIETLY));
            next.scan((id, value) -> {}, QUIETLY);
            next.check();
        }
    }

    @Test
    void aMarkThatLapsedDuringTheScanIsLost() {
        buildTree(graph, "main", 2, 10);
        GraphMark mark = graph.mark();
        assertRefused(Category.LAPSED, () -> mark.scan((id, value) -> lapse(), QUIETLY));
        graph.root("main").drop();
        assertThat(fixture.drain()).isEqualTo(11);
    }

    @Test
    void aGraphThatWasMadeAnewVoidsTheMark() {
        GraphMark mark = graph.mark();
        graph.destroy();
        assertRefused(Category.GONE, mark::check);
        try (GraphFixture anew = new GraphFixture(REDIS.uri().toString(), Settings.none())) {
            assertThat(anew.graph.incarnation()).isNotEqualTo(graph.incarnation());
            assertRefused(Category.LAPSED, mark::check);
            assertRefused(Category.LAPSED, () -> mark.scan((id, value) -> {}, QUIETLY));
        }
    }

    @Test
    void aReplacedStoreVoidsTheMark() throws Exception {
        try (RedisServer server = RedisServer.setup().durable().start();
                GraphFixture other = new GraphFixture(server.uri().toString(), Settings.none())) {
            buildTree(other.graph, "main", 2, 3);
            GraphMark complete = other.graph.mark();
            complete.scan((id, value) -> {}, QUIETLY);
            complete.check();
            GraphMark mark = other.graph.mark();
            server.restart();
            await().ignoreExceptionsMatching(e -> e instanceof HoldfastException it && it.isRetryable())
                    .until(() -> other.graph.root("main").target().isPresent());
            assertRefused(Category.LAPSED, complete::check);
            assertRefused(Category.LAPSED, () -> mark.scan((id, value) -> {}, QUIETLY));
        }
    }

    /** Lets the mark reach its deadline now, as the server sees it. */
    private static void lapse() {
        try (Jedis jedis = REDIS.client()) {
            byte[] meta = GraphFixture.key("meta");
            String mark = new String(jedis.hget(meta, bytes("mark")), java.nio.charset.StandardCharsets.US_ASCII);
            jedis.hset(meta, bytes("mark"), bytes("1" + mark.substring(mark.indexOf(';'))));
        }
    }

    private static void assertRefused(Category category, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(category));
    }
}
