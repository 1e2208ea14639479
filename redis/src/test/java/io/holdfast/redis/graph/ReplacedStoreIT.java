package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.buildTree;
import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.testkit.RedisReplication;
import io.holdfast.testkit.RedisServer;
import java.time.Duration;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** The server behind the address is another one: restarted with its data, without it, or failed over. */
class ReplacedStoreIT {

    private static final Duration LEASE = Duration.ofSeconds(2);

    private static Settings settings() {
        return Settings.none().set(GraphSettings.WRITER_LEASE, LEASE).set(GraphSettings.SNAPSHOT_LEASE, LEASE);
    }

    @Test
    void afterARestartNothingLapsesForTheLongestLeaseAndLateRenewalsAreAccepted() {
        try (RedisServer server = RedisServer.setup().durable().start();
                GraphFixture fixture = new GraphFixture(server.uri().toString(), settings())) {
            ValueGraph graph = fixture.graph;
            ValueId page = buildTree(graph, "main", 2, 3);
            Snapshot snapshot = graph.snapshot("main");
            graph.root("main").drop();
            try (Jedis jedis = server.client()) {
                // The lease is past its deadline by the time the store is back: nobody could renew while it was away.
                GraphFixture.lapseAll(jedis);
            }
            server.restart();
            GraphScripts.Stepped stepped = again(() -> graph.scripts().step());
            assertThat(stepped.quiet()).isTrue();
            assertThat(stepped.nextMillis()).isBetween(1L, LEASE.toMillis());
            assertThat(graph.find(page)).isPresent();
            assertThat(graph.scripts().renew(java.util.List.of(snapshot.lease().id())))
                    .isEqualTo("1");
            assertThat(snapshot.get(page)).isNotEmpty();
            await().until(() -> !graph.scripts().step().quiet());
            snapshot.close();
            await().until(() -> {
                fixture.drain();
                return graph.find(page).isEmpty();
            });
        }
    }

    @Test
    void whatNobodyRenewsAfterARestartIsReclaimedOnceTheQuietTimeIsOver() {
        try (RedisServer server = RedisServer.setup().durable().start();
                GraphFixture fixture = new GraphFixture(server.uri().toString(), settings())) {
            ValueGraph graph = fixture.graph;
            GraphWriter writer = graph.writer();
            ValueId orphan = writer.put(bytes("orphan"));
            writer.flush();
            server.restart();
            again(() -> graph.scripts().step());
            await().atMost(Duration.ofSeconds(20)).until(() -> {
                fixture.drain();
                return graph.find(orphan).isEmpty();
            });
        }
    }

    @Test
    void afterARestartWithoutDataOldHandlesSaySoAndTheGraphIsMadeAnew() {
        try (RedisServer server = RedisServer.start();
                GraphFixture fixture = new GraphFixture(server.uri().toString(), settings())) {
            ValueGraph graph = fixture.graph;
            buildTree(graph, "main", 2, 2);
            GraphWriter writer = graph.writer();
            writer.put(bytes("never sent"));
            server.restartEmpty();
            assertThatThrownBy(() -> again(() -> {
                        writer.flush();
                        return true;
                    }))
                    .isInstanceOfSatisfying(
                            HoldfastException.class,
                            e -> assertThat(e.category()).isEqualTo(Category.GONE));
            try (GraphFixture anew = new GraphFixture(server.uri().toString(), settings())) {
                assertThat(anew.graph.incarnation()).isNotEqualTo(graph.incarnation());
                assertThat(anew.graph.roots()).isEmpty();
                ValueId page = buildTree(anew.graph, "main", 2, 2);
                assertThat(anew.graph.find(page)).isPresent();
            }
        }
    }

    /** The replica lacks the last writes: an earlier, consistent state. The hold that it never saw is taken again. */
    @Test
    void afterAFailOverThatLostWritesHoldsAreAssertedAgain() {
        try (RedisReplication replication = RedisReplication.start()) {
            GraphFixture before = new GraphFixture(replication.primary().uri().toString(), settings());
            ValueId page = buildTree(before.graph, "main", 2, 3);
            replication.awaitInSync();
            replication.cutReplica();
            Snapshot lost = before.graph.snapshot("main");
            assertThat(lost.isValid()).isTrue();
            replication.failover();
            try (GraphFixture after =
                    new GraphFixture(replication.primary().uri().toString(), settings())) {
                ValueGraph graph = after.graph;
                assertThat(graph.scripts().step().quiet()).isTrue();
                assertThat(graph.scripts().renew(java.util.List.of(lost.lease().id())))
                        .isEqualTo("0");
                // What LeaseKeeper does when it hears that: the value is alive, so a new hold is as good.
                try (Hold again = graph.hold(page, Duration.ofMinutes(1))) {
                    assertThat(again.target()).isEqualTo(page);
                    graph.root("main").drop();
                    await().until(() -> !graph.scripts().step().quiet());
                    after.drain();
                    assertThat(graph.find(page)).isPresent();
                }
                after.drain();
                assertThat(graph.find(page)).isEmpty();
            }
            before.close();
        }
    }

    /** Small values are freed by the very call that releases them, but not before the holders had their chance. */
    @Test
    void whatIsReleasedInTheQuietTimeStaysAndAHoldThatTheStoreForgotTakesItBack() {
        try (RedisServer server = RedisServer.setup().durable().start();
                GraphFixture fixture = new GraphFixture(server.uri().toString(), settings())) {
            ValueGraph graph = fixture.graph;
            ValueId small = buildTree(graph, "small", 1, 0);
            ValueId tree = buildTree(graph, "tree", 2, 2);
            ValueId alone = buildTree(graph, "alone", 1, 0);
            server.restart();
            for (String root : new String[] {"small", "tree", "alone"}) {
                assertThat(again(() -> graph.root(root).drop())).isTrue();
            }
            assertThat(graph.scripts().step().quiet()).isTrue();
            assertThat(graph.findAll(java.util.List.of(small, tree, alone))).hasSize(3);
            try (Hold one = graph.hold(small, Duration.ofMinutes(1));
                    Hold two = graph.hold(tree, Duration.ofMinutes(1))) {
                await().until(() -> !graph.scripts().step().quiet());
                fixture.drain();
                assertThat(graph.find(one.target())).isPresent();
                assertThat(graph.find(two.target())).isPresent();
                assertThat(graph.find(alone)).isEmpty();
                assertThatThrownBy(() -> graph.hold(alone, Duration.ofMinutes(1)))
                        .hasMessageContaining("already reclaimed");
            }
            fixture.drain();
            assertThat(graph.inspect().statistics().values()).isZero();
        }
    }

    private static <T> T again(Supplier<T> call) {
        while (true) {
            try {
                return call.get();
            } catch (HoldfastException e) {
                if (e.category() != Category.RETRY) {
                    throw e;
                }
            }
        }
    }
}
