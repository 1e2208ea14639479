package io.holdfast.redis.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.session.Stage.Actor;
import io.holdfast.testkit.RedisServer;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** When deadlines may be trusted: what reviews found of leases and quiet time. */
class LeaseFindingsIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final Duration POLL = Duration.ofSeconds(2);

    private Stage stage;

    @BeforeEach
    void open() {
        stage = new Stage(redis.server());
    }

    @AfterEach
    void close() {
        stage.close();
    }

    /** H23: nothing lapses though the server's clock went forward by less than half a lease. */
    @Test
    void clockThatGoesForwardByLessThanHalfALeaseEndsNothing() {
        Duration lease = Duration.ofSeconds(20);
        Actor a = stage.actor("a", builder -> builder.lease(lease).grace(Duration.ZERO));
        Actor b = stage.actor("b", builder -> builder.lease(lease).grace(Duration.ZERO));
        stage.pass(lease);
        SessionHold hold = a.acquire("x");
        passUntilRenewed(a);
        a.stalled = true;
        stage.pass(Duration.ofSeconds(5));
        stage.jump(Duration.ofSeconds(7)); // with up to two seconds between looks still less than half a lease
        stage.passWithout(a, Duration.ofSeconds(12)); // 24 s after the last renewal by the server, 17 s by the instance
        assertThat(hold.isValid()).as("the instance cannot know").isTrue();
        assertThat(b.closedIds()).isEmpty();
        a.stalled = false;
        stage.pass(Duration.ofSeconds(30));
        assertThat(b.closedIds()).isEmpty();
        assertThat(hold.isValid()).isTrue();
    }

    /** H14, second half: after the clock went back, the dead end within one lease, not within the jump. */
    @Test
    void clockThatGoesBackDoesNotKeepTheDeadAlive() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.acquire("x");
        a.die();
        stage.jump(Duration.ofMinutes(-10));
        stage.pass(Stage.LEASE.multipliedBy(2).plus(Stage.GRACE).plus(POLL));
        assertThat(b.closedIds()).containsExactly("x");
    }

    /** H25: the shortest lease that is in force decides what a gap is. */
    @Test
    void stallThatIsShortForOthersEndsNoShortLease() {
        Actor longLease = stage.actor(
                "long", builder -> builder.lease(Duration.ofSeconds(60)).grace(Duration.ZERO));
        Actor shortLease = stage.actor(
                "short", builder -> builder.lease(Duration.ofMillis(2_400)).grace(Duration.ZERO));
        stage.pass(Duration.ofSeconds(70));
        SessionHold hold = shortLease.acquire("x");
        stage.pass(POLL);
        for (int stall = 0; stall < 5; stall++) {
            // The server stands still for longer than the short lease; then the other instance is the first to call.
            stage.passUnattended(Duration.ofMillis(2_500));
            stage.stepOnly(longLease);
            stage.stepOnly(shortLease);
            stage.pass(POLL);
        }
        stage.pass(Duration.ofSeconds(80));
        assertThat(longLease.closedIds()).isEmpty();
        assertThat(hold.isValid()).isTrue();
    }

    /** The other side of H25: a short lease that is dead must not prolong quiet time for ever. */
    @Test
    void deadShortLeaseLapsesThoughLooksAreRarerThanItIsLong() {
        Actor longLease = stage.actor("long", builder -> builder.lease(Duration.ofSeconds(9)));
        Actor shortLease = stage.actor("short", builder -> builder.lease(Duration.ofMillis(600)));
        shortLease.acquire("x");
        shortLease.die();
        stage.pass(Duration.ofSeconds(40));
        assertThat(longLease.closedIds()).containsExactly("x");
    }

    /** G5 for holds: quiet time is as long as the leases that are out, not as the longest that ever was. */
    @Test
    void leaseThatIsNoLongerOutDoesNotLengthenQuietTime() {
        Actor once = stage.actor("once", builder -> builder.lease(Duration.ofMinutes(50)));
        once.sessions.close();
        stage.pass(Duration.ofMinutes(51));
        Actor a = stage.actor("a");
        acquireAndRelease(a, "x");
        try (Jedis jedis = redis.client()) {
            for (int shard = 0; shard < Stage.SHARDS; shard++) {
                jedis.hset("hf:{session:rooms:" + shard + "}:meta", "run", "another server");
            }
        }
        stage.pass(Stage.LEASE.plus(Stage.GRACE).plus(POLL));
        assertThat(a.closedIds()).containsExactly("x");
    }

    /** H28: the clocks of an instance and of the server may drift apart. */
    @Test
    void aRenewalIsTrustedForLessThanTheLease() {
        Actor a = stage.actor("a");
        SessionHold hold = a.acquire("x");
        passUntilRenewed(a);
        stage.time.advance(Stage.LEASE.multipliedBy(985).dividedBy(1_000));
        assertThat(hold.isValid()).isTrue();
        stage.time.advance(Stage.LEASE.dividedBy(100));
        assertThat(hold.isValid()).as("after 99.5 % of the lease").isFalse();
    }

    /** Ends right after the instance sent a renewal. */
    private void passUntilRenewed(Actor actor) {
        actor.sent.clear();
        while (actor.sent.stream().noneMatch(call -> call.script().name().equals("renew.lua"))) {
            stage.pass(Duration.ofSeconds(1));
        }
    }

    /** H29: a server that was demoted and promoted again keeps its run id and may have lost writes. */
    @Test
    void failBackToTheSameServerIsNoticed() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.acquire("x");
        String run = redis.server().runId();
        try (RedisServer other = RedisServer.start();
                Jedis jedis = redis.client()) {
            jedis.replicaof("127.0.0.1", other.port());
            jedis.replicaofNoOne();
        }
        assertThat(redis.server().runId()).isEqualTo(run);
        a.stalled = true;
        stage.pass(Stage.LEASE.minusSeconds(2)); // the other looks all the while; a is nearly late
        a.stalled = false;
        assertThat(a.sessions.view().stats().quiet()).isTrue();
        stage.pass(Duration.ofSeconds(30));
        assertThat(b.closedIds()).isEmpty();
        assertThat(hold.isValid()).isTrue();
    }

    /** Two stalls in a row, with less than a heartbeat between them. */
    @Test
    void secondStallInQuietTimeBeginsItAnew() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.acquire("x");
        stage.pass(POLL);
        for (int stall = 0; stall < 3; stall++) {
            stage.passUnattended(Duration.ofSeconds(20));
            stage.stepOnly(b);
        }
        stage.pass(Duration.ofSeconds(40));
        assertThat(b.closedIds()).isEmpty();
        assertThat(hold.isValid()).isTrue();
    }

    @Test
    void nothingEndsWhileASetIsPausedAndEveryLeaseIsWholeAfterwards() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        acquireAndRelease(a, "due");
        a.acquire("of the dead");
        SessionHold hold = b.acquire("held");
        HoldView view = b.sessions.view();
        view.pause("ann", "live data disappeared");
        assertThat(view.paused()).hasValueSatisfying(pause -> {
            assertThat(pause.by()).isEqualTo("ann");
            assertThat(pause.why()).isEqualTo("live data disappeared");
        });
        a.die();
        stage.pass(Duration.ofMinutes(5));
        assertThat(b.closedIds()).isEmpty();
        assertThat(view.stats().leases()).as("leases, also the dead one's").isEqualTo(2 * Stage.SHARDS);
        view.resume("ann");
        assertThat(view.paused()).isEmpty();
        b.stalled = true;
        Actor c = stage.actor("c");
        stage.pass(Stage.LEASE.minusSeconds(2));
        assertThat(c.closedIds()).as("every lease has its whole length").isEmpty();
        b.stalled = false;
        stage.pass(Duration.ofMinutes(1));
        List<String> closed = new ArrayList<>(b.closedIds());
        closed.addAll(c.closedIds());
        assertThat(closed).containsExactlyInAnyOrder("due", "of the dead");
        assertThat(hold.isValid()).isTrue();
    }

    /** G2 for holds: after a crash of all instances on a full server somebody must be able to come back and free. */
    @Test
    void instancesJoinWhenMemoryIsFull() {
        Actor a = stage.actor("a");
        a.acquire("x");
        a.die();
        redis.server().maxmemory("1mb");
        Actor b = stage.actor("b");
        stage.pass(Stage.LEASE.multipliedBy(2).plus(Stage.GRACE).plus(POLL));
        assertThat(b.closedIds()).containsExactly("x");
        assertThatThrownBy(() -> b.acquire("y"))
                .isInstanceOfSatisfying(
                        HoldfastException.class,
                        e -> assertThat(e.category()).isEqualTo(HoldfastException.Category.FULL));
        b.sessions.close();
    }

    private static void acquireAndRelease(Actor actor, String id) {
        actor.acquire(id).close();
    }

    /** A torn lapse may name a living lease among the dead: it lives, and those behind it are released all the same. */
    @Test
    void livingLeaseThatATornScriptCalledDeadKeepsNoOtherFromBeingReleased() {
        Actor a = stage.actor("a");
        SessionHold held = a.acquire("held");
        try (Jedis jedis = redis.client()) {
            for (String things : jedis.keys("hf:{session:*}:things")) {
                String dead = things.replace(":things", ":dead");
                jedis.hkeys(things).stream()
                        .filter(field -> field.startsWith(","))
                        .forEach(lease -> jedis.zadd(dead, 1, lease));
            }
        }
        Actor c = stage.actor("c");
        for (int i = 0; i < 20; i++) {
            c.acquire("of the dead " + i);
        }
        c.die();
        stage.pass(Stage.LEASE.multipliedBy(2).plus(Stage.GRACE).plusSeconds(10));
        assertThat(a.closedIds()).hasSize(20).doesNotContain("held");
        assertThat(held.isValid()).isTrue();
        try (Jedis jedis = redis.client()) {
            assertThat(jedis.keys("hf:{session:*}:dead")).isEmpty();
        }
    }
}
