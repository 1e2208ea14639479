package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.buildTree;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.Duty;
import io.holdfast.Settings;
import io.holdfast.testkit.RedisServer;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** Reclaiming on a server of its own, which says who else uses it. */
class PaceIT {

    private static final int MORE_THAN_ONE_LOOK = 20;
    /** So few that no drain of these trees ends before the looks do. */
    private static final int STEP_EDGES = 16;

    private RedisServer server;
    private Jedis other;
    private GraphFixture fixture;
    private CascadeDuty duty;

    @BeforeEach
    void dropATree() {
        server = RedisServer.start();
        other = server.client();
        fixture = new GraphFixture(server.uri().toString(), Settings.none().set(GraphSettings.STEP_EDGES, STEP_EDGES));
        buildTree(fixture.graph, "main", 4, 10);
        fixture.graph.root("main").drop();
        duty = fixture.cascade();
    }

    @AfterEach
    void close() {
        fixture.close();
        other.close();
        server.close();
    }

    @Test
    void serverHearsExactlyWhatAStepSends() {
        GraphScripts scripts = fixture.graph.scripts();
        long before = scripts.step(true).heard();
        scripts.step(false);
        assertThat(scripts.step(true).heard() - before).isEqualTo(2 * scripts.stepBytes());
    }

    @Test
    void whoIsAloneWithTheServerDoesNotRest() {
        assertThat(restAfterMoreThanOneLook(() -> {})).isZero();
    }

    @Test
    void whoIsNotAloneRests() {
        assertThat(restAfterMoreThanOneLook(() -> other.echo("x".repeat(1_000))))
                .isPositive();
    }

    private Duration restAfterMoreThanOneLook(Runnable meanwhile) {
        Duration rest = Duration.ZERO;
        for (int i = 0; i < MORE_THAN_ONE_LOOK; i++) {
            meanwhile.run();
            Duty.Step step = duty.step();
            assertThat(step.next()).as("there is more to do").isLessThan(Duration.ofMillis(100));
            rest = step.next();
        }
        return rest;
    }
}
