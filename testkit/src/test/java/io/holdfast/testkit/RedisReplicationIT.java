package io.holdfast.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.util.Set;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.exceptions.JedisDataException;

final class RedisReplicationIT {

    @Test
    void aFailoverKeepsWhatTheReplicaHadAndLosesWhatItNeverGot() {
        try (var replication = RedisReplication.start()) {
            set(replication.primary(), "kept", "yes");
            replication.awaitInSync();
            RedisServer old = replication.primary();
            String oldLife = old.runId();

            replication.cutReplica();
            set(replication.primary(), "lost", "yes");
            replication.failover();

            assertThat(replication.primary()).isNotSameAs(old);
            assertThat(replication.primary().runId()).isNotEqualTo(oldLife);
            assertThat(get(replication.primary(), "kept")).isEqualTo("yes");
            assertThat(get(replication.primary(), "lost")).isNull();
            set(replication.primary(), "after", "yes");

            replication.restartReplica();
            assertThat(get(replication.replica(), "after")).isEqualTo("yes");
        }
    }

    @Test
    void aSwitchOverTurnsWritersAwayAndLosesNothingThatWasInSync() {
        try (var replication = RedisReplication.start()) {
            set(replication.primary(), "kept", "yes");
            replication.awaitInSync();
            RedisServer old = replication.primary();

            replication.switchOver();

            assertThatThrownBy(() -> set(old, "late", "yes"))
                    .isInstanceOf(JedisDataException.class)
                    .hasMessageContaining("READONLY");
            assertThat(get(replication.primary(), "kept")).isEqualTo("yes");
        }
    }

    @Test
    void aCutReplicaThatJoinsAgainCatchesUp() {
        try (var replication = RedisReplication.start()) {
            replication.cutReplica();
            set(replication.primary(), "late", "yes");
            assertThat(get(replication.replica(), "late")).isNull();

            replication.joinReplica();
            assertThat(get(replication.replica(), "late")).isEqualTo("yes");
        }
    }

    @Test
    void aSentinelNoticesADeadPrimaryAndLeadsClientsToTheNewOne() {
        try (var replication = RedisReplication.startWithSentinel();
                var client = RedisSentinelClient.builder()
                        .masterName(RedisReplication.NAME)
                        .sentinels(Set.of(replication.sentinelAddress()))
                        .build()) {
            client.set("kept", "yes");
            replication.awaitInSync();
            replication.cutReplica();
            client.set("lost", "yes");

            replication.failover();

            try (Jedis direct = replication.primary().client()) {
                assertThat(direct.get("kept")).isEqualTo("yes");
                assertThat(direct.exists("lost")).isFalse();
                assertThat(direct.set("after", "yes")).isEqualTo("OK");
            }
            await().ignoreExceptions()
                    .untilAsserted(() -> assertThat(client.get("after")).isEqualTo("yes"));

            replication.restartReplica();
            replication.switchOver();
            await().ignoreExceptions()
                    .untilAsserted(() -> assertThat(client.set("again", "yes")).isEqualTo("OK"));
            assertThat(get(replication.primary(), "again")).isEqualTo("yes");
        }
    }

    private static void set(RedisServer server, String key, String value) {
        try (Jedis client = server.client()) {
            client.set(key, value);
        }
    }

    private static String get(RedisServer server, String key) {
        try (Jedis client = server.client()) {
            return client.get(key);
        }
    }
}
