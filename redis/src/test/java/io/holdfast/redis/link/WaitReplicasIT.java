package io.holdfast.redis.link;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.testkit.RedisReplication;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** Calls that return only when a replica has what they wrote. */
class WaitReplicasIT {

    private static final Script WRITE = Script.load(WaitReplicasIT.class, "write.lua", "meta", "field value", "status");

    private static Settings settings(RedisReplication servers, int replicas) {
        return Settings.none()
                .set(LinkSettings.URI, servers.primary().uri().toString())
                .set(LinkSettings.TIMEOUT, Duration.ofSeconds(2))
                .set(LinkSettings.WAIT_REPLICAS, replicas);
    }

    private static Call write(String field) {
        return new Call(
                WRITE,
                List.of("hf:{wait:test:0}:meta".getBytes(US_ASCII)),
                List.of(field.getBytes(US_ASCII), "here".getBytes(US_ASCII)));
    }

    @Test
    void whatWasAnsweredIsOnTheReplicaAndWhatIsNotThereIsNotAnswered() {
        try (RedisReplication servers = RedisReplication.start();
                RedisLink waiting = RedisLink.connect(settings(servers, 1));
                RedisLink hasty = RedisLink.connect(settings(servers, 0));
                Jedis replica = servers.replica().client()) {
            servers.awaitInSync();
            assertThat(waiting.call(write("alone")).text(0)).isEqualTo("OK");
            assertThat(replica.hget("hf:{wait:test:0}:meta", "alone")).isEqualTo("here");
            assertThat(waiting.callAll(List.of(write("first"), write("second"))))
                    .allSatisfy(outcome -> assertThat(outcome.get().text(0)).isEqualTo("OK"));
            assertThat(replica.hmget("hf:{wait:test:0}:meta", "first", "second"))
                    .containsExactly("here", "here");

            servers.cutReplica();
            assertThat(hasty.call(write("hasty")).text(0)).isEqualTo("OK");
            assertThatThrownBy(() -> waiting.call(write("cut")))
                    .isInstanceOfSatisfying(
                            HoldfastException.class,
                            e -> assertThat(e.category()).isEqualTo(Category.RETRY))
                    .hasMessageContaining("done, but only 0 of 1 replicas have it");
            for (Outcome outcome : waiting.callAll(List.of(write("third"), write("fourth")))) {
                assertThat(outcome.failure()).isNotNull().hasMessageContaining("only 0 of 1 replicas");
            }
        }
    }

    @Test
    void aClusterRefusesTheSetting() {
        Settings settings = Settings.none()
                .set(LinkSettings.URI, "redis-cluster://127.0.0.1:1")
                .set(LinkSettings.WAIT_REPLICAS, 1);
        assertThatThrownBy(() -> RedisLink.connect(settings))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.MISUSE))
                .hasMessageContaining("holdfast.redis.wait-replicas=1 with a cluster");
    }
}
