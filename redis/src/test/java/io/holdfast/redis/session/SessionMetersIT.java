package io.holdfast.redis.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.testkit.RedisServer;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The metrics say what happened. */
class SessionMetersIT {

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

    private double counted(String name, String... tags) {
        FunctionCounter counter =
                registry.get("holdfast.sessions." + name).tags(tags).functionCounter();
        assertThat(counter.getId().getTag("set")).isEqualTo(Stage.SET);
        return counter.count();
    }

    private double gauge(String name) {
        return registry.get("holdfast.sessions." + name).gauge().value();
    }

    @Test
    void metricsFollowWhatHappensToSessions() {
        try (RedisServer server = RedisServer.start();
                Stage stage = new Stage(server)) {
            Stage.Actor here = stage.actor("here");
            Stage.Actor there = stage.actor("there");
            new SessionMeters(here.sessions).bindTo(registry);

            SessionHold kept = here.sessions.acquire("kept");
            SessionHold shared = here.sessions.acquire("shared");
            there.sessions.acquire("shared");
            there.sessions.acquire("lonely");
            SessionHold second = here.sessions.acquire("lonely");
            assertThat(counted("acquired")).isEqualTo(3);
            assertThat(counted("holders", "holders", "1")).isEqualTo(2);
            assertThat(counted("holders", "holders", "2")).isEqualTo(1);
            assertThat(gauge("serving")).isEqualTo(3);

            shared.close();
            second.close();
            assertThat(counted("released")).isEqualTo(2);
            assertThat(gauge("serving")).isEqualTo(1);

            there.die();
            stage.pass(Stage.LEASE.plus(Stage.GRACE).plusSeconds(3));
            assertThat(counted("lapsed.leases")).isEqualTo(Stage.SHARDS);
            assertThat(counted("lapsed.holds")).isEqualTo(2);
            assertThat(counted("orphans")).isEqualTo(2);
            assertThat(counted("closed")).isEqualTo(2);
            assertThat(counted("failed")).isZero();
            assertThat(counted("negatives")).isZero();
            assertThat(gauge("closing")).isZero();

            here.handler = claim -> {
                throw new IllegalStateException("the handler fails");
            };
            kept.close();
            stage.pass(Stage.GRACE.plusSeconds(1));
            assertThat(counted("failed")).isEqualTo(1);
            assertThat(counted("closed")).isEqualTo(2);
            stage.pass(Duration.ofMinutes(3));
            assertThat(counted("failed")).isEqualTo((double) SessionSettings.ATTEMPTS.defaultValue());
            assertThat(counted("dead.letters")).isEqualTo(1);
        }
    }

    @Test
    void anInstanceThatStalledCountsWhatItLostAndRegained() {
        try (RedisServer server = RedisServer.start();
                Stage stage = new Stage(server)) {
            Stage.Actor here = stage.actor("here");
            stage.actor("there");
            new SessionMeters(here.sessions).bindTo(registry);
            here.sessions.acquire("room");
            here.stalled = true;
            stage.pass(Stage.LEASE.plusSeconds(2));
            here.stalled = false;
            stage.pass(Duration.ofSeconds(2));
            assertThat(counted("lost")).isEqualTo(1);
            assertThat(counted("regained")).isEqualTo(1);
        }
    }
}
