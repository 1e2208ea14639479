package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.buildTree;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.Settings;
import io.holdfast.testkit.RedisServer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** What scripts leave behind on a server of their own. */
class ScriptGarbageIT {

    private RedisServer server;
    private Jedis other;
    private GraphFixture fixture;

    @BeforeEach
    void open() {
        server = RedisServer.start();
        other = server.client();
        fixture = new GraphFixture(server.uri().toString(), Settings.none());
    }

    @AfterEach
    void close() {
        fixture.close();
        other.close();
        server.close();
    }

    @Test
    void whatADrainLeavesIsCollectedAsItGoes() {
        buildTree(fixture.graph, "main", 6, 8);
        long inUse = (Long) other.eval("collectgarbage() return math.ceil(collectgarbage('count'))");
        fixture.graph.root("main").drop();
        CascadeDuty duty = fixture.cascade();
        long most = 0;
        int calls = 0;
        while (duty.step().next().compareTo(Duration.ofMillis(100)) < 0) {
            most = Math.max(most, kib());
            calls++;
        }
        assertThat(calls).isGreaterThan(20);
        assertThat(most).isLessThan(2 * inUse + 1_000);
    }

    @Test
    void aStepHoldsTheCollectorOffForItselfAlone() {
        fixture.graph.scripts().step();
        assertThatOthersGarbageIsCollected();
    }

    @Test
    void soDoesAStepThatMustNotFreeAnything() {
        other.hset(new String(GraphFixture.key("meta"), StandardCharsets.US_ASCII), "run", "0".repeat(40));
        assertThat(fixture.graph.scripts().step().quiet()).isTrue();
        assertThatOthersGarbageIsCollected();
    }

    /** By itself the server lets as much gather as is in use. */
    private void assertThatOthersGarbageIsCollected() {
        leaveMebibytes(8);
        assertThat(kib()).isLessThan(4_000);
    }

    private void leaveMebibytes(int mebibytes) {
        other.eval("for i = 1, " + (mebibytes << 10) + " do local _ = string.rep(i .. ' ', 1024 / #(i .. ' ')) end");
    }

    private long kib() {
        return (Long) other.eval("return math.ceil(collectgarbage('count'))");
    }
}
