package io.holdfast.redis.link;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.testkit.RedisCluster;
import io.holdfast.testkit.RedisReplication;
import io.holdfast.testkit.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** Calls that return only when a replica has what they wrote. */
class WaitReplicasIT {

    private static final Script WRITE = Script.load(WaitReplicasIT.class, "write.lua", "meta", "field value", "status");

    private static final Script ONCE = Script.load(WaitReplicasIT.class, "write-once.lua", "meta", "field", "status");

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
    void repeatThatWritesNothingWaitsForTheReplicaToo() {
        try (RedisReplication servers = RedisReplication.start();
                RedisLink waiting = RedisLink.connect(settings(servers, 1));
                RedisLink other = RedisLink.connect(settings(servers, 0))) {
            servers.awaitInSync();
            assertThat(waiting.call(once(0, "first")).text(0)).isEqualTo("OK");
            servers.replica().stall(); // it stays connected, and acknowledges nothing more
            try {
                // The first call, whose answer was lost, went through another connection.
                assertThat(other.call(once(0, "second")).text(0)).isEqualTo("OK");
                assertThatThrownBy(() -> waiting.call(once(0, "second")))
                        .hasMessageContaining("done, but only 0 of 1 replicas have it");
                assertThat(waiting.callAll(List.of(once(0, "first"), once(0, "second"))))
                        .allSatisfy(outcome ->
                                assertThat(outcome.failure()).isNotNull().hasMessageContaining("0 of 1 replicas"));
            } finally {
                servers.replica().resume();
            }
            servers.awaitInSync();
            assertThat(waiting.call(once(0, "second")).text(0)).isEqualTo("ALREADY");
        }
    }

    @Test
    void waitingNeedsNoMemoryAndNoScriptInTheServersCache() {
        try (RedisReplication servers = RedisReplication.start();
                RedisLink waiting = RedisLink.connect(settings(servers, 1));
                Jedis primary = servers.primary().client()) {
            servers.awaitInSync();
            assertThat(waiting.call(once(0, "first")).text(0)).isEqualTo("OK");
            servers.primary().maxmemory("1");
            primary.scriptFlush();
            assertThat(waiting.call(once(0, "first")).text(0)).isEqualTo("ALREADY");
        }
    }

    @Test
    void clusterWaitsForTheReplicasOfEachServerByItself() {
        try (RedisCluster cluster = RedisCluster.startWithReplicas();
                RedisLink waiting = RedisLink.connect(Settings.none()
                        .set(
                                LinkSettings.URI,
                                "redis-cluster://" + cluster.addresses().getFirst())
                        .set(LinkSettings.TIMEOUT, Duration.ofSeconds(2))
                        .set(LinkSettings.WAIT_REPLICAS, 1))) {
            List<Integer> shards = shardsOnDifferentMasters(cluster);
            List<Call> all = shards.stream().map(shard -> once(shard, "here")).toList();
            assertThat(waiting.callAll(all))
                    .allSatisfy(outcome -> assertThat(outcome.get().text(0)).isEqualTo("OK"));
            for (int shard : shards) {
                assertThat(replicaHas(cluster, shard, "here")).isTrue();
                assertThat(waiting.call(once(shard, "alone")).text(0)).isEqualTo("OK");
                assertThat(replicaHas(cluster, shard, "alone")).isTrue();
            }

            RedisServer behind = cluster.replicaOf(cluster.masterOf(key(shards.getFirst())));
            behind.stall();
            try {
                List<Outcome> outcomes = waiting.callAll(all);
                assertThat(outcomes.getFirst().failure())
                        .isNotNull()
                        .hasMessageContaining("done, but only 0 of 1 replicas have it");
                assertThat(outcomes.subList(1, 3))
                        .allSatisfy(outcome -> assertThat(outcome.get().text(0)).isEqualTo("ALREADY"));
                assertThatThrownBy(() -> waiting.call(once(shards.getFirst(), "alone")))
                        .hasMessageContaining("0 of 1 replicas");
            } finally {
                behind.resume();
            }
        }
    }

    @Test
    void slotThatMovedIsFollowedByCallsThatWait() {
        try (RedisCluster cluster = RedisCluster.startWithReplicas();
                RedisLink waiting = RedisLink.connect(Settings.none()
                        .set(
                                LinkSettings.URI,
                                "redis-cluster://" + cluster.addresses().getFirst())
                        .set(LinkSettings.WAIT_REPLICAS, 1))) {
            assertThat(waiting.call(once(0, "before")).text(0)).isEqualTo("OK");
            RedisServer from = cluster.masterOf(key(0));
            cluster.moveSlot(RedisCluster.slot(key(0)), cluster.anotherThan(from));
            assertThat(waiting.call(once(0, "before")).text(0)).isEqualTo("ALREADY");
            assertThat(waiting.callAll(List.of(once(0, "after"), once(0, "before"))))
                    .extracting(outcome -> outcome.get().text(0))
                    .containsExactly("OK", "ALREADY");
            assertThat(replicaHas(cluster, 0, "after")).isTrue();
        }
    }

    private static List<Integer> shardsOnDifferentMasters(RedisCluster cluster) {
        return cluster.masters().stream()
                .map(master -> IntStream.range(0, 1_000)
                        .filter(shard -> cluster.masterOf(key(shard)) == master)
                        .findFirst()
                        .orElseThrow())
                .toList();
    }

    private static boolean replicaHas(RedisCluster cluster, int shard, String field) {
        try (Jedis replica = cluster.replicaOf(cluster.masterOf(key(shard))).client()) {
            replica.readonly();
            return replica.hexists(key(shard), field);
        }
    }

    private static String key(int shard) {
        return "hf:{wait:test:" + shard + "}:meta";
    }

    /** Writes a field if it is not there: a repeat writes nothing. */
    private static Call once(int shard, String field) {
        return new Call(ONCE, List.of(key(shard).getBytes(US_ASCII)), List.of(field.getBytes(US_ASCII)));
    }
}
