package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.redis.Holdfast;
import io.holdfast.testkit.RedisCluster;
import io.holdfast.testkit.RedisReplication;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Shards on several servers, and servers that take over from others. */
class AggregatesClusterIT {

    private static final Duration LEASE = Duration.ofSeconds(2);

    private final Map<String, Visit> rows = new ConcurrentHashMap<>();

    private void write(List<Flush<Visit>> batch) {
        batch.forEach(flush -> rows.put(flush.key() + "/" + flush.epoch(), flush.value()));
    }

    private long views() {
        return rows.values().stream().mapToLong(Visit::views).sum();
    }

    private Aggregates<Visit> aggregates(Holdfast holdfast) {
        return holdfast.aggregates("spread", Visit.class, Visit::merge)
                .set(AggregateSettings.LEASE, LEASE)
                .publishInterval(Duration.ofMillis(50))
                .sink(this::write)
                .start();
    }

    @Test
    void shardsOnDifferentServersAndASlotThatMovesLoseNothing() {
        try (RedisCluster cluster = RedisCluster.start()) {
            String uri = "redis-cluster://"
                    + cluster.addresses().stream().map(Object::toString).collect(Collectors.joining(","));
            try (Holdfast first = Holdfast.connect(uri);
                    Holdfast second = Holdfast.connect(uri);
                    Aggregates<Visit> a = aggregates(first);
                    Aggregates<Visit> b = aggregates(second)) {
                for (int i = 0; i < 400; i++) {
                    (i % 2 == 0 ? a : b).add("page" + i % 100, Visit.of(1));
                    if (i == 200) {
                        int slot = RedisCluster.slot("hf:{aggregate:spread:0}:meta");
                        cluster.moveSlot(slot, cluster.anotherThan(cluster.masterOf(slot)));
                    }
                }
                b.publish();
                assertThat(a.endAll()).isEqualTo(100);
                await().atMost(Duration.ofSeconds(60)).until(() -> views() == 400);
                assertThat(rows).hasSize(100);
            }
        }
    }

    @Test
    void failOverLosesNothingThatTheReplicaHasAndNothingThatAnInstanceStillHas() {
        try (RedisReplication replication = RedisReplication.startWithSentinel()) {
            String uri = "redis-sentinel://" + replication.sentinelAddress() + "#" + RedisReplication.NAME;
            try (Holdfast holdfast = Holdfast.connect(uri);
                    Aggregates<Visit> a = aggregates(holdfast)) {
                a.add("early", Visit.of(1));
                a.add("lost", Visit.of(2));
                a.publish();
                replication.awaitInSync();
                replication.cutReplica();
                a.add("lost", Visit.of(4)); // the replica does not see this publish
                a.publish();
                replication.failover();
                await().atMost(Duration.ofSeconds(60)).ignoreExceptions().until(() -> {
                    a.add("lost", Visit.of(8)).toCompletableFuture().get(5, java.util.concurrent.TimeUnit.SECONDS);
                    return true;
                });
                await().atMost(Duration.ofSeconds(60)).ignoreExceptions().until(() -> a.endAll() >= 0);
                await().atMost(Duration.ofSeconds(60))
                        .until(() -> a.view().show("lost").isEmpty());
                await().atMost(Duration.ofSeconds(60)).until(() -> rows.size() == 2);
                assertThat(views() % 8).as("1 of early, 2 and 4 of lost").isEqualTo(7);
                assertThat(views()).isGreaterThanOrEqualTo(15);
            }
        }
    }
}
