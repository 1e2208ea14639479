package io.holdfast.redis.graph;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.Settings;
import io.holdfast.testkit.RedisServer;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** When deadlines prove nothing, and while a graph is paused, nothing lapses and nothing is freed. */
class GraphQuietIT {

    private static final Duration LEASE = Duration.ofSeconds(30);

    private RedisServer server;
    private Jedis redis;
    private GraphFixture fixture;

    @BeforeEach
    void open() {
        server = RedisServer.start();
        redis = server.client();
        fixture = new GraphFixture(server.uri().toString(), settings());
    }

    @AfterEach
    void close() {
        fixture.close();
        redis.close();
        server.close();
    }

    private static Settings settings() {
        return GraphFixture.with(GraphSettings.WRITER_LEASE, LEASE).set(GraphSettings.SNAPSHOT_LEASE, LEASE);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }

    private ValueId rooted(String value) {
        try (GraphWriter writer = fixture.graph.writer()) {
            ValueId id = writer.put(bytes(value));
            fixture.graph.root("main").set(id);
            return id;
        }
    }

    private boolean isQuiet() {
        return fixture.graph.scripts().step().quiet();
    }

    private void setMeta(String field, long value) {
        redis.hset(GraphFixture.key("meta"), bytes(field), bytes(Long.toString(value)));
    }

    /** G2: after a crash of all clients on a full server a new one must be able to open, drop and free. */
    @Test
    void graphIsOpenedDroppedAndDrainedOnAFullServer() {
        rooted("page");
        fixture.close();
        server.maxmemory("1mb");
        fixture = new GraphFixture(server.uri().toString(), settings());
        fixture.graph.root("main").drop();
        fixture.drain();
        assertThat(GraphFixture.count(redis, "values")).isZero();
    }

    /** G4: a stall or a jump forward looks like a time in which no script ran. */
    @Test
    void gapInWhichNoScriptRanBeginsQuietTime() {
        ValueId page = rooted("page");
        try (Snapshot snapshot = fixture.graph.snapshot("main")) {
            assertThat(isQuiet()).isFalse();
            fixture.graph.root("main").drop();
            GraphFixture.lapseAll(redis);
            setMeta("seen", System.currentTimeMillis() - 60_000);
            assertThat(isQuiet()).isTrue();
            fixture.drain();
            assertThat(snapshot.get(page)).isEqualTo(bytes("page"));
        }
    }

    @Test
    void clockThatWentBackBeginsQuietTime() {
        rooted("page");
        assertThat(isQuiet()).isFalse();
        setMeta("seen", System.currentTimeMillis() + 60_000);
        assertThat(isQuiet()).isTrue();
    }

    /** G5: one long lease must not prolong every quiet time after it is gone. */
    @Test
    void quietTimeIsAsLongAsTheLeasesThatAreOut() {
        rooted("page");
        String gone = Duration.ofDays(1).toMillis() + ";" + (System.currentTimeMillis() - 1);
        redis.hset(GraphFixture.key("meta"), bytes("longest"), bytes(gone));
        try (Snapshot snapshot = fixture.graph.snapshot("main")) {
            assertThat(snapshot.target()).isNotNull();
            setMeta("seen", System.currentTimeMillis() - 60_000);
            GraphScripts.Stepped stepped = fixture.graph.scripts().step();
            assertThat(stepped.quiet()).isTrue();
            assertThat(stepped.nextMillis()).isBetween(1L, LEASE.toMillis());
        }
    }

    @Test
    void nothingIsFreedWhileTheGraphIsPaused() {
        ValueId page = rooted("page");
        fixture.graph.pause("ann", "live data disappeared");
        fixture.graph.root("main").drop();
        fixture.drain();
        assertThat(fixture.graph.find(page))
                .as("a value that was given up while paused")
                .isPresent();
        fixture.graph.resume("ann");
        assertThat(isQuiet())
                .as("every lease has its whole length after a pause")
                .isTrue();
        redis.hset(GraphFixture.key("meta"), bytes("quiet"), bytes("0"));
        fixture.drain();
        assertThat(fixture.graph.find(page)).isEmpty();
    }
}
