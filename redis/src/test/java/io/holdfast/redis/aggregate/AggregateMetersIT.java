package io.holdfast.redis.aggregate;

import static io.holdfast.redis.aggregate.Position.at;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.testkit.RedisServer;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The metrics say what happened. */
class AggregateMetersIT {

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

    private double counted(String name) {
        FunctionCounter counter = registry.get("holdfast.aggregates." + name).functionCounter();
        assertThat(counter.getId().getTag("set")).isEqualTo(Stage.SET);
        return counter.count();
    }

    private double gauge(String name) {
        return registry.get("holdfast.aggregates." + name).gauge().value();
    }

    @Test
    void metricsFollowWhatHappensToAggregates() {
        try (RedisServer server = RedisServer.start();
                Stage stage = new Stage(server)) {
            Stage.Actor here = stage.actor("here");
            Stage.Actor there = stage.actor("there");
            there.sinkIsDown = true;
            new AggregateMeters(here.visits).bindTo(registry);
            here.visits.add("page", Visit.of(1), at("t", 0, 1));
            here.visits.add("other", Visit.of(1), at("t", 0, 2));
            assertThat(gauge("keys")).isEqualTo(2);
            assertThat(gauge("pending")).isEqualTo(2);
            stage.pass(Duration.ofSeconds(2));
            assertThat(counted("updates")).isEqualTo(2);
            assertThat(counted("published")).isEqualTo(2);
            assertThat(counted("published.bytes")).isEqualTo(gauge("waiting.bytes") - 2 * 18);
            assertThat(gauge("pending")).isZero();

            there.visits.add("page", Visit.of(1), at("t", 0, 1));
            here.visits.rewind("t", 0);
            here.visits.add("other", Visit.of(1), at("t", 0, 2));
            here.visits.add("page", Visit.of(1), at("t", 0, 3));
            here.losesReply = call -> call.script().name().equals("publish.lua");
            stage.pass(Duration.ofSeconds(2));
            here.losesReply = call -> false;
            assertThat(counted("unanswered")).isPositive();
            stage.pass(Duration.ofSeconds(2));
            assertThat(there.visits.figures().duplicates()).isEqualTo(1);

            here.sinkIsDown = true;
            here.visits.forceEnd("page");
            stage.pass(Duration.ofSeconds(5));
            assertThat(counted("failed") + there.visits.figures().failed()).isPositive();
            there.die();
            here.sinkIsDown = false;
            stage.pass(Stage.HARD.plus(Stage.LEASE));
            assertThat(counted("flushed")).isEqualTo(2);
            assertThat(counted("left")).isEqualTo(2);
            assertThat(counted("lapsed.leases")).isEqualTo(Stage.SHARDS);
            assertThat(gauge("waiting.bytes")).isZero();
            assertThat(gauge("keys")).isZero();
            assertThat(gauge("flushing")).isZero();
            for (String zero : new String[] {"negatives", "refused", "dead.letters", "full", "stale.commits"}) {
                assertThat(counted(zero)).as(zero).isZero();
            }
        }
    }
}
