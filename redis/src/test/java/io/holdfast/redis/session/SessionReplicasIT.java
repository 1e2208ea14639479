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
import redis.clients.jedis.Jedis;

/** Calls that wait for replicas, and a replica that is gone. */
class SessionReplicasIT {

    @Test
    void missingReplicaPausesClosingAndMakesNoDeadLetter() throws Exception {
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
            Thread.sleep(Duration.ofSeconds(6)); // many claims and many retry pauses
            assertThat(view.list(HoldView.State.DEAD_LETTER, 10)).isEmpty();
            assertThat(closed).as("closed without a replica that knows").isEmpty();
            servers.joinReplica();
            await().atMost(Duration.ofSeconds(30))
                    .untilAsserted(() -> assertThat(closed).contains("r"));
            await().atMost(Duration.ofSeconds(30))
                    .untilAsserted(
                            () -> assertThat(view.stats()).matches(it -> it.live() + it.grace() + it.closing() == 0));
            assertThat(view.list(HoldView.State.DEAD_LETTER, 10)).isEmpty();
        }
    }

    @Test
    void missingReplicaEndsNoHoldThatTheServerHasRenewed() {
        List<SessionLost> lost = new CopyOnWriteArrayList<>();
        try (RedisReplication servers = RedisReplication.start();
                Holdfast holdfast = Holdfast.builder()
                        .uri(servers.primary().uri().toString())
                        .set(LinkSettings.WAIT_REPLICAS, 1)
                        .set(LinkSettings.TIMEOUT, Duration.ofMillis(200))
                        .open()) {
            servers.awaitInSync();
            Sessions rooms = holdfast.sessions("rooms")
                    .set(SessionSettings.SHARDS, 1)
                    .lease(Duration.ofSeconds(1))
                    .onLost(lost::addAll)
                    .start();
            SessionHold hold = rooms.acquire("r");
            servers.cutReplica();
            String first = deadline(servers);
            // Renewals go on: each is a later deadline, together more than two leases.
            await().atMost(Duration.ofSeconds(30))
                    .until(() -> Long.parseLong(deadline(servers)) - Long.parseLong(first) > 2_000);
            assertThat(hold.isValid()).isTrue();
            assertThat(lost).isEmpty();
            servers.joinReplica();
        }
    }

    private static String deadline(RedisReplication servers) {
        try (Jedis primary = servers.primary().client()) {
            return String.valueOf((long) primary.zrangeWithScores("hf:{session:rooms:0}:deadlines", 0, 0)
                    .getFirst()
                    .getScore());
        }
    }
}
