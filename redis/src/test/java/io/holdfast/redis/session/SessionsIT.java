package io.holdfast.redis.session;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.session.Stage.Actor;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The life of a session, and everything that went wrong with it elsewhere. */
class SessionsIT {

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

    // ---- the four races that the original accepts

    @Test
    void twoInstancesThatAcquireTogetherAreTwoHolders() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.acquire("x");
        b.acquire("x");
        assertThat(a.sessions.count("x")).isEqualTo(2);
        assertThat(a.sessions.holders("x"))
                .anyMatch(name -> name.startsWith("a#"))
                .anyMatch(name -> name.startsWith("b#"));
    }

    @Test
    void twoInstancesThatReleaseTogetherLeaveNoNegativeCountAndOneClose() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold ofA = a.acquire("x");
        SessionHold ofB = b.acquire("x");
        ofA.close();
        ofB.close();
        a.call(a.last("release.lua")); // both of them once more
        b.call(b.last("release.lua"));
        assertThat(a.sessions.count("x")).isZero();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closed.size() + b.closed.size()).isEqualTo(1);
        assertThat(a.sessions.figures().negatives() + b.sessions.figures().negatives())
                .isZero();
        assertThat(a.sessions.view().show("x")).isEmpty();
    }

    @Test
    void acquireInTheLastMomentOfTheGraceKeepsTheSessionOpen() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        long epoch = acquireAndRelease(a, "x");
        stage.passUnattended(Stage.GRACE.minusMillis(1));
        assertThat(b.acquire("x").epoch()).isEqualTo(epoch);
        stage.pass(Duration.ofMinutes(1));
        assertThat(a.closed).isEmpty();
        assertThat(b.closed).isEmpty();
    }

    @Test
    void instanceThatDiesBeforeItReleasesIsClosedAfterLeaseAndGrace() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.acquire("x");
        a.die();
        stage.pass(Stage.LEASE.dividedBy(2).plus(Stage.GRACE));
        assertThat(b.closed).isEmpty();
        stage.pass(Stage.LEASE.dividedBy(2).plus(POLL));
        assertThat(b.closedIds()).containsExactly("x");
        assertThat(b.closed.getFirst().evidence()).startsWith("lapsed with a#");
        assertThat(b.sessions.figures().lapsedLeases()).isEqualTo(Stage.SHARDS);
        assertThat(b.sessions.figures().lapsedHolds()).isEqualTo(1);
    }

    // ---- late and repeated calls

    @Test
    void lateRepeatOfAReleaseDoesNotEndALaterHold() {
        Actor a = stage.actor("a");
        acquireAndRelease(a, "x");
        Call late = a.last("release.lua");
        a.acquire("x");
        assertThat(stage.link.call(late).text()).isEqualTo("STALE");
        assertThat(a.sessions.count("x")).isEqualTo(1);
    }

    @Test
    void lateRepeatOfAnAcquireDoesNotComeBackAfterTheRelease() {
        Actor a = stage.actor("a");
        acquireAndRelease(a, "x");
        assertThat(stage.link.call(a.last("acquire.lua")).text()).isEqualTo("STALE");
        assertThat(a.sessions.count("x")).isZero();
    }

    @Test
    void callsOfAnOldIncarnationChangeNothing() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.acquire("x");
        Call lateRelease = releaseThatNeverArrives(a, "y");
        Call lateAcquire = a.last("acquire.lua");
        a.stalled = true;
        stage.pass(Stage.LEASE.plus(POLL));
        b.acquire("x");
        assertThat(stage.link.call(lateRelease).text()).isEqualTo("LAPSED");
        assertThat(stage.link.call(lateAcquire).text()).isEqualTo("LAPSED");
        assertThat(b.sessions.holders("x")).singleElement().asString().startsWith("b#");
    }

    @Test
    void lateRepeatOfTakingALeaseIsRefused() {
        Actor a = stage.actor("a");
        stage.actor("b");
        Call join = a.last("join.lua");
        a.die();
        stage.pass(Stage.LEASE.plus(POLL));
        // As the lease was forgotten, only the time in the call can tell; the server's own clock did not move.
        List<byte[]> arguments = new java.util.ArrayList<>(join.arguments());
        arguments.set(
                2,
                Long.toString(System.currentTimeMillis() - POLL.toMillis())
                        .getBytes(java.nio.charset.StandardCharsets.US_ASCII));
        assertThat(stage.link
                        .call(new Call(join.script(), join.keys(), arguments))
                        .text(0))
                .isEqualTo("LATE");
    }

    @Test
    void releaseThatGotNoAnswerIsRepeatedUntilItDid() {
        Actor a = stage.actor("a");
        SessionHold hold = a.acquire("x");
        a.loses = call -> call.script().name().equals("release.lua");
        hold.close();
        assertThat(a.sessions.count("x")).isEqualTo(1);
        a.loses = call -> false;
        stage.pass(Stage.LEASE);
        assertThat(a.sessions.count("x")).isZero();
        stage.pass(Stage.GRACE);
        assertThat(a.closedIds()).containsExactly("x");
    }

    @Test
    void repeatOfAnAcquireAnswersWhatItAnswered() {
        Actor a = stage.actor("a");
        a.acquire("x");
        Call acquire = a.last("acquire.lua");
        String first = stage.link.call(acquire).text();
        assertThat(stage.link.call(acquire).text()).isEqualTo(first);
        assertThat(a.activated)
                .containsExactly(
                        new SessionActivation("x", a.activated.getFirst().epoch(), true));
    }

    // ---- CLOSING

    @Test
    void acquireWhileClosingWaitsForTheOldLife() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        long old = acquireAndRelease(a, "x");
        b.stalled = true;
        a.handler = claim -> {
            assertThatThrownBy(() -> b.acquire("x"))
                    .isInstanceOfSatisfying(
                            HoldfastException.class,
                            e -> assertThat(e.category()).isEqualTo(Category.RETRY))
                    .hasMessageContaining("still being closed");
        };
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closed).hasSize(1);
        SessionHold hold = b.acquire("x");
        assertThat(hold.epoch()).isGreaterThan(old);
        assertThat(b.activated).last().extracting(SessionActivation::epoch).isEqualTo(hold.epoch());
    }

    @Test
    void overlapEpochsBeginsANewLifeWhileTheOldOneIsClosing() {
        Actor a = stage.actor("a", SessionsBuilder::overlapEpochs);
        Actor b = stage.actor("b", SessionsBuilder::overlapEpochs);
        long old = acquireAndRelease(a, "x");
        b.stalled = true;
        long[] during = new long[1];
        a.handler = claim -> during[0] = b.acquire("x").epoch();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(during[0]).isGreaterThan(old);
        assertThat(a.closed).singleElement().extracting(SessionClaim::epoch).isEqualTo(old);
        assertThat(b.sessions.count("x")).isEqualTo(1);
        b.stalled = false;
        stage.pass(Duration.ofSeconds(30));
        assertThat(a.closed).as("the new life is held").hasSize(1);
    }

    @Test
    void twoClaimersNeverGetTheSameSession() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        for (int i = 0; i < 200; i++) {
            acquireAndRelease(i % 2 == 0 ? a : b, "s" + i);
        }
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closed.size() + b.closed.size()).isEqualTo(200);
        assertThat(a.closedIds()).doesNotContainAnyElementsOf(b.closedIds());
    }

    @Test
    void claimerKilledBetweenEffectAndCommitIsFollowedWithAHigherToken() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        acquireAndRelease(a, "x");
        b.stalled = true;
        long[] first = new long[1];
        a.handler = claim -> {
            first[0] = claim.token();
            a.die();
        };
        stage.pass(Stage.GRACE.plus(POLL));
        b.stalled = false;
        stage.pass(Stage.CLAIM.plus(Stage.LEASE).plus(POLL)); // quiet time may begin: no instance called for a while
        assertThat(first[0]).isPositive();
        assertThat(b.closed).singleElement().satisfies(claim -> {
            assertThat(claim.token()).isGreaterThan(first[0]);
            assertThat(claim.attempt()).isEqualTo(2);
        });
    }

    @Test
    void commitWithAStaleTokenChangesNothing() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        acquireAndRelease(a, "x");
        b.stalled = true;
        a.loses = call -> call.script().name().equals("settle.lua");
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closed).as("the effect, whose commit got lost").hasSize(1);
        Call commit = a.last("settle.lua");
        a.stalled = true;
        b.stalled = false;
        b.handler = claim -> {
            assertThat(stage.link.call(commit).text(0)).isEqualTo("STALE");
            throw new IllegalStateException("not yet");
        };
        stage.pass(Stage.CLAIM.plus(POLL));
        assertThat(b.sessions.list(HoldView.State.CLOSING, 10)).hasSize(1);
        b.handler = claim -> {};
        stage.pass(Duration.ofSeconds(10));
        assertThat(b.closed).hasSize(1);
    }

    @Test
    void commitRepeatedAnswersAlready() {
        Actor a = stage.actor("a");
        acquireAndRelease(a, "x");
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closed).hasSize(1);
        assertThat(stage.link.call(a.last("settle.lua")).text(0)).isEqualTo("ALREADY");
        assertThat(a.sessions.view().stats().closed()).isEqualTo(1);
    }

    // ---- leases

    @Test
    void stalledInstanceIsToldAndHoldsAgain() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.acquire("x");
        long epoch = hold.epoch();
        a.stalled = true;
        stage.pass(Stage.LEASE.plus(POLL));
        assertThat(b.sessions.count("x")).isZero();
        assertThat(hold.isValid())
                .as("by its own clock, before it asks anybody")
                .isFalse();
        a.stalled = false;
        stage.pass(POLL);
        assertThat(a.lost).containsExactly(new SessionLost("x", epoch));
        assertThat(a.regained).containsExactly(new SessionRegained("x", epoch, epoch, false));
        assertThat(hold.isValid()).isTrue();
        assertThat(b.sessions.count("x")).isEqualTo(1);
    }

    @Test
    void stalledInstanceWhoseSessionWasClosedGetsANewLife() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.acquire("x");
        long epoch = hold.epoch();
        a.stalled = true;
        stage.pass(Stage.LEASE.plus(Stage.GRACE).plus(POLL).plus(POLL));
        assertThat(b.closed).singleElement().extracting(SessionClaim::epoch).isEqualTo(epoch);
        a.stalled = false;
        stage.pass(POLL);
        assertThat(a.lost).hasSize(1);
        assertThat(a.regained).singleElement().satisfies(regained -> {
            assertThat(regained.unbroken()).isFalse();
            assertThat(regained.epoch()).isGreaterThan(epoch).isEqualTo(hold.epoch());
        });
    }

    @Test
    void shardThatCannotBeReachedKeepsNobodyFromHoldingAgainInTheOthers() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.acquire("x");
        int shard = a.sessions.view().set().shardOf("x");
        a.stalled = true;
        stage.pass(Stage.LEASE.plus(POLL));
        a.loses = call -> !new String(call.keys().getFirst(), UTF_8).contains("rooms:" + shard + "}");
        a.stalled = false;
        stage.pass(POLL);
        assertThat(hold.isValid()).isTrue();
        stage.pass(Stage.LEASE.plus(Stage.GRACE).plus(POLL));
        assertThat(b.closed).isEmpty();
        assertThat(a.closed).isEmpty();
    }

    @Test
    void shardThatFailsWhileItIsToldAgainKeepsNobodyFromTheOthers() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.acquire("x");
        int shard = a.sessions.view().set().shardOf("x");
        String other = "y";
        while (a.sessions.view().set().shardOf(other) == shard) {
            other += "y";
        }
        SessionHold failing = a.acquire(other);
        a.stalled = true;
        stage.pass(Stage.LEASE.plus(POLL));
        a.loses = call -> call.script().name().equals("acquire.lua")
                && !new String(call.keys().getFirst(), UTF_8).contains("rooms:" + shard + "}");
        a.stalled = false;
        stage.pass(POLL);
        assertThat(hold.isValid()).isTrue();
        assertThat(failing.isValid()).isFalse();
        stage.pass(Stage.LEASE.plus(Stage.GRACE).plus(POLL));
        assertThat(a.closedIds()).doesNotContain("x");
        assertThat(b.closedIds()).doesNotContain("x");
    }

    @Test
    void oneFailedRenewalDoesNotEndTheRenewals() {
        Actor a = stage.actor("a");
        stage.actor("b");
        SessionHold hold = a.acquire("x");
        int[] lost = {4};
        a.loses = call -> call.script().name().equals("renew.lua") && lost[0]-- > 0;
        stage.pass(Duration.ofMinutes(2));
        assertThat(lost[0]).isNegative();
        assertThat(hold.isValid()).isTrue();
        assertThat(a.lost).isEmpty();
    }

    @Test
    void instanceIsToldBeforeTheServerWouldGiveItUp() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.acquire("x");
        a.loses = call -> true;
        while (a.lost.isEmpty()) {
            assertThat(b.sessions.count("x")).isEqualTo(1);
            stage.pass(Duration.ofMillis(100));
        }
        assertThat(b.sessions.count("x")).as("still a holder to the others").isEqualTo(1);
        assertThat(hold.isValid()).isFalse();
    }

    @Test
    void wallClocksThatAreWrongByAnHourChangeNothing() {
        Actor a = stage.actor("a");
        stage.actor("b");
        SessionHold hold = a.acquire("x");
        stage.time.setWall(stage.time.instant().plus(Duration.ofHours(1)));
        stage.pass(Duration.ofMinutes(1));
        stage.time.setWall(stage.time.instant().minus(Duration.ofHours(2)));
        stage.pass(Duration.ofMinutes(1));
        assertThat(hold.isValid()).isTrue();
        assertThat(a.lost).isEmpty();
        hold.close();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(stage.actor("c").sessions.view().show("x")).isEmpty();
    }

    // ---- the store

    @Test
    void stalledStoreRevokesNobody() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.acquire("x");
        long epoch = acquireAndRelease(b, "y");
        // Nobody reached the store for long, so every lease is late. The first one there must not give the other up.
        stage.passUnattended(Stage.LEASE.multipliedBy(3));
        b.duties.runDue();
        assertThat(b.sessions.count("x")).isEqualTo(1);
        assertThat(b.closed).isEmpty();
        stage.pass(Stage.LEASE.plus(POLL));
        assertThat(hold.isValid()).isTrue();
        assertThat(a.closed.size() + b.closed.size())
                .as("y, which nobody holds")
                .isEqualTo(1);
        assertThat(epoch).isPositive();
    }

    @Test
    void restartedStoreClosesNothingForOneLeaseAndKnowsAllHoldersAgain() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.acquire("x");
        acquireAndRelease(b, "y");
        stage.passUnattended(Stage.GRACE.minusMillis(500));
        redis.server().restart();
        a.stalled = true;
        stage.pass(Stage.LEASE.minus(POLL));
        assertThat(b.closed).as("quiet").isEmpty();
        a.stalled = false;
        stage.pass(POLL.plus(POLL));
        assertThat(b.closed.size() + a.closed.size()).isEqualTo(1);
        assertThat(b.sessions.holders("x")).singleElement().asString().startsWith("a#");
        assertThat(hold.isValid()).isTrue();
    }

    @Test
    void storeThatLostEverythingIsToldAgainWhoHoldsWhat() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold ofA = a.acquire("x");
        SessionHold ofB = b.acquire("x");
        long epoch = ofA.epoch();
        redis.server().restartEmpty();
        stage.pass(Duration.ofSeconds(4));
        assertThat(b.sessions.count("x")).isEqualTo(2);
        assertThat(ofA.epoch()).isGreaterThan(epoch).isEqualTo(ofB.epoch());
        assertThat(a.lost).hasSize(1);
        assertThat(a.regained)
                .singleElement()
                .extracting(SessionRegained::unbroken)
                .isEqualTo(false);
        ofA.close();
        stage.pass(Duration.ofSeconds(30));
        assertThat(a.closed.size() + b.closed.size()).isZero();
        ofB.close();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closed.size() + b.closed.size()).isEqualTo(1);
    }

    @Test
    void releasingAndClosingWorkWhenMemoryIsFull() {
        Actor a = stage.actor("a");
        SessionHold hold = a.acquire("x");
        redis.server().maxmemory("1mb");
        assertThatThrownBy(() -> a.acquire("z"))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.FULL));
        hold.close();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closedIds()).containsExactly("x");
        assertThat(a.lost).isEmpty();
    }

    private static long acquireAndRelease(Actor actor, String id) {
        try (SessionHold hold = actor.acquire(id)) {
            return hold.epoch();
        }
    }

    private static Call releaseThatNeverArrives(Actor actor, String id) {
        SessionHold hold = actor.acquire(id);
        actor.loses = call -> call.script().name().equals("release.lua");
        hold.close();
        actor.loses = call -> false;
        return actor.last("release.lua");
    }
}
