package io.holdfast.redis.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.testkit.RedisReplication;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Calls that wait for replicas, and a replica that is gone. */
class SessionReplicasIT {

    @Test
    void sessionIsClosedThoughNoReplicaHasTheClaim() {
        List<String> closed = new CopyOnWriteArrayList<>();
        try (RedisReplication servers = RedisReplication.start();
                Holdfast holdfast = Holdfast.builder()
                        .uri(servers.primary().uri().toString())
                        .set(LinkSettings.WAIT_REPLICAS, 1)
                        .set(LinkSettings.TIMEOUT, Duration.ofMillis(400))
                        .open();
                Holdfast looking = Holdfast.connect(servers.primary().uri().toString())) {
            servers.awaitInSync();
            Sessions rooms = holdfast.sessions("rooms")
                    .set(SessionSettings.SHARDS, 2)
                    .grace(Duration.ofMillis(100))
                    .lease(Duration.ofSeconds(2))
                    .set(SessionSettings.CLAIM, Duration.ofMillis(500))
                    .set(SessionSettings.ATTEMPTS, 2)
                    .onClose(claim -> closed.add(claim.id()))
                    .start();
            HoldView view = looking.sessions("rooms").look().orElseThrow();
            SessionHold hold = rooms.acquire("r");
            servers.cutReplica();
            try {
                hold.close();
            } catch (HoldfastException e) {
                assertThat(e.isRetryable()).isTrue(); // it was done, but nobody else has it
            }
            await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
                assertThat(view.list(HoldView.State.DEAD_LETTER, 10)).isEmpty();
                assertThat(closed).contains("r");
            });
            servers.joinReplica();
            await().atMost(Duration.ofSeconds(30))
                    .untilAsserted(
                            () -> assertThat(view.stats()).matches(it -> it.live() + it.grace() + it.closing() == 0));
            assertThat(view.list(HoldView.State.DEAD_LETTER, 10)).isEmpty();
        }
    }
}
