package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.buildTree;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.testkit.FaultProxy;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** The server no longer knows a lease, as after a fail-over that lost it; the keeper takes a new one on the same value. */
class LostLeaseIT {

    @RegisterExtension
    static final SharedRedis server = SharedRedis.plain();

    private Jedis redis;
    private FaultProxy proxy;
    private GraphFixture fixture;
    private Snapshot snapshot;

    @BeforeEach
    void open() {
        redis = server.client();
        proxy = FaultProxy.to(server.server());
        fixture = new GraphFixture(
                proxy.uri().toString(), GraphFixture.with(GraphSettings.SNAPSHOT_LEASE, Duration.ofSeconds(3)));
        buildTree(fixture.graph, "main", 2, 2);
        snapshot = fixture.graph.snapshot("main");
        fixture.duties.runDue();
        fixture.graph.scripts().renew(List.of(snapshot.lease().id())); // so that the server has the script
        redis.del(GraphFixture.key("leases"), GraphFixture.key("lease-info"));
        await().until(() -> snapshot.lease().untilRenewal().isNegative());
        await().until(() -> fixture.duties.untilNext().orElseThrow().isZero());
    }

    @AfterEach
    void close() {
        fixture.close();
        proxy.close();
        redis.close();
    }

    @Test
    void newLeaseThatIsNotAnsweredIsAskedForAgain() {
        proxy.dropRequest("EVALSHA", 2); // the first says that the lease is lost
        await().until(() -> {
            fixture.duties.runDue();
            return proxy.struck() == 1;
        });
        assertThat(snapshot.isValid()).isFalse();
        await().until(() -> {
            fixture.duties.runDue();
            return snapshot.isValid();
        });
        assertThat(snapshot.get(snapshot.target())).isNotEmpty();
    }

    @Test
    void holdThatIsClosedWhileItsLeaseIsReplacedKeepsNothing() {
        proxy.delay(Duration.ofMillis(300));
        Thread keeper = Thread.ofVirtual().start(fixture.duties::runDue);
        await().until(() -> redis.zcard(GraphFixture.key("leases")) > 0); // taken, and not yet answered
        snapshot.close();
        proxy.pass();
        await().until(() -> !keeper.isAlive());
        // Released, or lapsed where that was not answered; a lease that is still renewed would stay.
        await().until(() -> {
            fixture.duties.runDue();
            return redis.hvals("hf:{graph:docs:0}:lease-info").stream().noneMatch(lease -> lease.contains(";a;"));
        });
    }
}
