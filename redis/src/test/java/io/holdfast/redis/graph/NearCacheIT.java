package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.testkit.SharedRedis;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** The near cache answers for what the hold keeps, and for nothing else. */
class NearCacheIT {

    @RegisterExtension
    static final SharedRedis REDIS = SharedRedis.plain();

    /** A cache that never forgets, which is the worst case. */
    private static final class Everything implements ValueCache {
        final Map<ByteBuffer, byte[]> kept = new ConcurrentHashMap<>();
        int hits;

        @Override
        public byte @Nullable [] get(byte[] key) {
            byte[] value = kept.get(ByteBuffer.wrap(key));
            hits += value == null ? 0 : 1;
            return value;
        }

        @Override
        public void put(byte[] key, byte[] value) {
            kept.put(ByteBuffer.wrap(key.clone()), value);
        }
    }

    private final Everything cache = new Everything();
    private GraphFixture fixture;
    private ValueGraph graph;
    private ValueId leaf;
    private ValueId page;

    @BeforeEach
    void open() {
        fixture = new GraphFixture(REDIS.uri().toString(), Settings.none());
        graph = ValueGraph.open(fixture.client, GraphFixture.NAME, cache);
        try (GraphWriter writer = graph.writer()) {
            leaf = writer.put(bytes("leaf"));
            page = writer.put(bytes("page"), leaf);
            graph.root("main").set(page);
        }
    }

    @AfterEach
    void close() {
        fixture.close();
    }

    @Test
    void whatWasReadOnceIsReadAgainWithoutTheStore() {
        try (Snapshot snapshot = graph.snapshot("main")) {
            assertThat(snapshot.children(page)).containsExactly(leaf);
            assertThat(snapshot.getAll(List.of(page, leaf))).hasSize(2);
        }
        try (Snapshot snapshot = graph.snapshot("main")) {
            try (Jedis jedis = REDIS.client()) { // nothing but the cache can know it now
                jedis.del(GraphFixture.keys("values").toArray(byte[][]::new));
                jedis.del(GraphFixture.keys("edges").toArray(byte[][]::new));
            }
            assertThat(snapshot.children(page)).containsExactly(leaf);
            assertThat(snapshot.get(leaf)).isEqualTo(bytes("leaf"));
            assertThat(snapshot.getAll(List.of(page, leaf))).hasSize(2);
            assertThat(cache.hits).isEqualTo(4);
        }
    }

    /** A snapshot of one thing is no licence to read another that is long gone. */
    @Test
    void whatWasReclaimedIsNotServedUnderAnotherHold() {
        try (Snapshot snapshot = graph.snapshot("main")) {
            snapshot.children(page).forEach(snapshot::get);
        }
        try (GraphWriter writer = graph.writer()) {
            graph.root("main").set(writer.put(bytes("other")));
        }
        fixture.drain();
        assertThat(cache.kept).isNotEmpty();
        try (Snapshot snapshot = graph.snapshot("main")) {
            assertGone(() -> snapshot.get(leaf));
            assertGone(() -> snapshot.getAll(List.of(snapshot.target(), leaf)));
            assertThat(snapshot.children(page)).isEmpty();
            assertGone(() -> snapshot.get(leaf));
        }
    }

    @Test
    void aGraphThatWasMadeAnewDoesNotFindTheOldOnesValues() {
        try (Snapshot snapshot = graph.snapshot("main")) {
            snapshot.get(page);
        }
        graph.destroy();
        try (ValueGraph anew = ValueGraph.open(fixture.client, GraphFixture.NAME, cache);
                GraphWriter writer = anew.writer()) {
            anew.root("main").set(writer.put(bytes("new")));
            try (Snapshot snapshot = anew.snapshot("main")) {
                assertThat(snapshot.get(snapshot.target())).isEqualTo(bytes("new"));
                assertGone(() -> snapshot.get(page));
            }
        }
    }

    private static void assertGone(Runnable read) {
        assertThatThrownBy(read::run)
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.GONE));
    }
}
