package io.holdfast.redis.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.redis.Holdfast;
import io.holdfast.testkit.RedisCluster;
import io.holdfast.testkit.RedisReplication;
import io.holdfast.testkit.RedisServer;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Shards on several servers, and servers that take over from others. */
class SessionsClusterIT {

    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration GRACE = Duration.ofMillis(500);
    private static final int SHARDS = 8;

    @Test
    void shardsLandOnDifferentServersAndEverythingHolds() {
        try (RedisCluster cluster = RedisCluster.start()) {
            String uri = "redis-cluster://"
                    + cluster.addresses().stream().map(Object::toString).collect(Collectors.joining(","));
            Set<RedisServer> servers = new HashSet<>();
            for (int shard = 0; shard < SHARDS; shard++) {
                servers.add(cluster.masterOf(meta(shard)));
            }
            assertThat(servers).hasSizeGreaterThan(1);
            Set<String> closed = ConcurrentHashMap.newKeySet();
            Holdfast first = Holdfast.connect(uri);
            try (Holdfast second = Holdfast.connect(uri)) {
                Sessions a = sessions(first, closed);
                Sessions b = sessions(second, closed);
                List<SessionHold> held = java.util.stream.IntStream.range(0, 200)
                        .mapToObj(i -> a.acquire("s" + i))
                        .toList();
                SessionHold shared = b.acquire("s0");
                assertThat(b.count("s0")).isEqualTo(2);
                int slot = RedisCluster.slot(meta(0));
                cluster.moveSlot(slot, cluster.anotherThan(cluster.masterOf(slot)));
                await().atMost(LEASE.multipliedBy(3)).until(() -> held.stream().allMatch(SessionHold::isValid));
                assertThat(closed).isEmpty();
                held.subList(0, 100).forEach(SessionHold::close);
                await().atMost(Duration.ofSeconds(30)).until(() -> closed.size() == 99);
                assertThat(closed).doesNotContain("s0");
                first.close(); // as a crash: nothing is released
                await().atMost(Duration.ofSeconds(30)).until(() -> closed.size() == 199);
                assertThat(shared.isValid()).isTrue();
                assertThat(b.view().stats().live()).isEqualTo(1);
            }
        }
    }

    @Test
    void failOverThatLosesAcquiresClosesNothingThatIsHeld() {
        try (RedisReplication replication = RedisReplication.startWithSentinel()) {
            String uri = "redis-sentinel://" + replication.sentinelAddress() + "#" + RedisReplication.NAME;
            Set<String> closed = ConcurrentHashMap.newKeySet();
            try (Holdfast first = Holdfast.connect(uri);
                    Holdfast second = Holdfast.connect(uri)) {
                Sessions a = sessions(first, closed);
                Sessions b = sessions(second, closed);
                SessionHold early = a.acquire("early");
                SessionHold shared = b.acquire("shared");
                replication.awaitInSync();
                replication.cutReplica();
                SessionHold late = a.acquire("late"); // lost by the fail-over
                shared.close();
                a.acquire("shared"); // the replica knows neither
                replication.failover();
                await().atMost(Duration.ofSeconds(30)).until(() -> early.isValid() && late.isValid());
                await().atMost(Duration.ofSeconds(30))
                        .until(() -> b.count("early") == 1 && b.count("late") == 1 && b.count("shared") > 0);
                await().during(LEASE.plus(GRACE)).atMost(Duration.ofSeconds(30)).until(closed::isEmpty);
                late.close();
                await().atMost(Duration.ofSeconds(30)).until(() -> closed.contains("late"));
                assertThat(closed).containsExactly("late");
            }
        }
    }

    private static String meta(int shard) {
        return "hf:{session:spread:" + shard + "}:meta";
    }

    private static Sessions sessions(Holdfast holdfast, Set<String> closed) {
        return holdfast.sessions("spread")
                .lease(LEASE)
                .grace(GRACE)
                .set(SessionSettings.SHARDS, SHARDS)
                .onClose(claim -> closed.add(claim.id()))
                .start();
    }
}
