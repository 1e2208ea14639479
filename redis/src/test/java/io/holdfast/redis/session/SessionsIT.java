package io.holdfast.redis.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ReclaimReason;
import io.holdfast.ThingId;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.session.Stage.Actor;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

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
        a.sessions.acquire("x");
        b.sessions.acquire("x");
        assertThat(a.sessions.count("x")).isEqualTo(2);
        assertThat(a.sessions.holders("x"))
                .anyMatch(name -> name.startsWith("a#"))
                .anyMatch(name -> name.startsWith("b#"));
    }

    @Test
    void twoInstancesThatReleaseTogetherLeaveNoNegativeCountAndOneClose() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold ofA = a.sessions.acquire("x");
        SessionHold ofB = b.sessions.acquire("x");
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
        assertThat(b.sessions.acquire("x").epoch()).isEqualTo(epoch);
        stage.pass(Duration.ofMinutes(1));
        assertThat(a.closed).isEmpty();
        assertThat(b.closed).isEmpty();
    }

    @Test
    void instanceThatDiesBeforeItReleasesIsClosedAfterLeaseAndGrace() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.sessions.acquire("x");
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
        a.sessions.acquire("x");
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
        a.sessions.acquire("x");
        Call lateRelease = releaseThatNeverArrives(a, "y");
        Call lateAcquire = a.last("acquire.lua");
        a.stalled = true;
        stage.pass(Stage.LEASE.plus(POLL));
        b.sessions.acquire("x");
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
        SessionHold hold = a.sessions.acquire("x");
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
        a.sessions.acquire("x");
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
            assertThatThrownBy(() -> b.sessions.acquire("x"))
                    .isInstanceOfSatisfying(
                            HoldfastException.class,
                            e -> assertThat(e.category()).isEqualTo(Category.RETRY))
                    .hasMessageContaining("still being closed");
        };
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closed).hasSize(1);
        SessionHold hold = b.sessions.acquire("x");
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
        a.handler = claim -> during[0] = b.sessions.acquire("x").epoch();
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
        stage.pass(Stage.CLAIM.plus(POLL));
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
        SessionHold hold = a.sessions.acquire("x");
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
        assertThat(a.regained).containsExactly(new SessionRegained("x", epoch, epoch));
        assertThat(hold.isValid()).isTrue();
        assertThat(b.sessions.count("x")).isEqualTo(1);
    }

    @Test
    void stalledInstanceWhoseSessionWasClosedGetsANewLife() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.sessions.acquire("x");
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
    void oneFailedRenewalDoesNotEndTheRenewals() {
        Actor a = stage.actor("a");
        stage.actor("b");
        SessionHold hold = a.sessions.acquire("x");
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
        SessionHold hold = a.sessions.acquire("x");
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
        SessionHold hold = a.sessions.acquire("x");
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
        SessionHold hold = a.sessions.acquire("x");
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
        SessionHold hold = a.sessions.acquire("x");
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
        SessionHold ofA = a.sessions.acquire("x");
        SessionHold ofB = b.sessions.acquire("x");
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
        SessionHold hold = a.sessions.acquire("x");
        redis.server().maxmemory("1mb");
        assertThatThrownBy(() -> a.sessions.acquire("z"))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.FULL));
        hold.close();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closedIds()).containsExactly("x");
        assertThat(a.lost).isEmpty();
    }

    // ---- clients, data, idle mode

    @Test
    void onlyTheFirstAndTheLastClientOfAnInstanceTalkToTheStore() {
        Actor a = stage.actor("a");
        SessionHold first = a.sessions.acquire("x");
        int sent = a.sent.size();
        SessionHold second = a.sessions.acquire("x");
        second.close();
        second.close(); // twice is once
        assertThat(a.sent).hasSize(sent);
        assertThat(first.isValid()).isTrue();
        first.close();
        assertThat(a.sent).hasSize(sent + 1);
        assertThat(a.activated).hasSize(1);
    }

    @Test
    void instancesThatServeTogetherCloseOnceWhenTheLastOneLeaves() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold ofA = a.sessions.acquire("x");
        SessionHold ofB = b.sessions.acquire("x");
        ofA.close();
        stage.pass(Duration.ofMinutes(1));
        assertThat(a.closed.size() + b.closed.size()).isZero();
        ofB.close();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closed.size() + b.closed.size()).isEqualTo(1);
    }

    @Test
    void secondHolderIsFoundWhenTheFirstOneLeavesAndItDies() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold ofA = a.sessions.acquire("x");
        b.sessions.acquire("x");
        b.die();
        ofA.close();
        stage.pass(Stage.LEASE.plus(Stage.GRACE).plus(POLL));
        assertThat(a.closedIds()).containsExactly("x");
    }

    @Test
    void dataFieldsReachTheOthersAndTheClose() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold ofA = a.sessions.acquire("x");
        SessionHold ofB = b.sessions.acquire("x");
        ofA.putAll(Map.of("user", "ann", "colour", "blue"));
        ofB.put("user", "bé:n\n");
        ofA.put("colour", "");
        assertThat(ofB.data()).isEqualTo(Map.of("user", "bé:n\n"));
        assertThatThrownBy(() -> ofA.put("large", "x".repeat(70_000)))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.FULL));
        ofA.close();
        ofB.close();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closed.isEmpty() ? b.closed : a.closed)
                .singleElement()
                .extracting(SessionClaim::data)
                .isEqualTo(Map.of("user", "bé:n\n"));
        try (Jedis jedis = redis.client()) {
            assertThat(jedis.keys("*:data")).isEmpty();
        }
    }

    @Test
    void idleSessionsLiveAsLongAsThereIsActivity() {
        Actor a = stage.actor("a", builder -> builder.idle(Duration.ofSeconds(20)));
        long epoch = a.sessions.touch("x");
        for (int i = 0; i < 5; i++) {
            stage.pass(Duration.ofSeconds(15));
            assertThat(a.sessions.touch("x")).isEqualTo(epoch);
        }
        stage.pass(Duration.ofSeconds(22));
        assertThat(a.closedIds()).containsExactly("x");
        assertThat(stage.link.call(a.last("touch.lua")).text())
                .as("a late repeat opens nothing")
                .contains("GONE");
        assertThat(a.sessions.view().show("x")).isEmpty();
        assertThatThrownBy(() -> a.sessions.acquire("x")).hasMessageContaining("idle mode");
    }

    @Test
    void theEndOfASessionIsInTheLedger() {
        Actor a = stage.actor("a");
        acquireAndRelease(a, "x");
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.sessions.view().ledger("x").find(new ThingId(ThingId.Kind.SESSION, Stage.SET, "x")))
                .hasValueSatisfying(gone -> {
                    assertThat(gone.reason()).isEqualTo(ReclaimReason.CLOSED);
                    assertThat(gone.evidence()).startsWith("released by a#");
                    assertThat(gone.at()).isAfter(Instant.EPOCH);
                });
    }

    // ---- handlers

    @Test
    void handlerThatFailsIsTriedAgainAndBecomesADeadLetterThatCanBeRetried() {
        Actor a = stage.actor("a", builder -> builder.set(SessionSettings.ATTEMPTS, 3));
        long epoch = acquireAndRelease(a, "x");
        int[] attempts = new int[1];
        a.handler = claim -> {
            attempts[0]++;
            throw new IllegalStateException("the target refuses");
        };
        stage.pass(Duration.ofMinutes(1));
        assertThat(attempts[0]).isEqualTo(3);
        assertThat(a.sessions.deadLetters(10)).singleElement().satisfies(letter -> {
            assertThat(letter.id()).isEqualTo("x");
            assertThat(letter.attempts()).isEqualTo(3);
        });
        a.sessions.acquire("x").close(); // a dead letter is in nobody's way
        a.handler = claim -> {};
        a.sessions.retry("x", epoch);
        stage.pass(POLL);
        assertThat(a.closed).extracting(SessionClaim::epoch).containsExactly(epoch);
        assertThat(a.sessions.deadLetters(10)).isEmpty();
    }

    @Test
    void targetThatIsDownDoesNotCountAsAnAttempt() {
        Actor a = stage.actor("a", builder -> builder.set(SessionSettings.ATTEMPTS, 2));
        acquireAndRelease(a, "x");
        int[] tried = new int[1];
        a.handler = claim -> {
            tried[0]++;
            throw new HoldfastException(Category.RETRY, "the database is down");
        };
        stage.pass(Duration.ofMinutes(5));
        assertThat(tried[0]).isBetween(5, 30);
        assertThat(a.sessions.deadLetters(10)).isEmpty();
        a.handler = claim -> {};
        stage.pass(Duration.ofMinutes(1));
        assertThat(a.closedIds()).containsExactly("x");
    }

    @Test
    void handlerThatNeverReturnsLosesItsClaimToAnother() {
        Actor stuck = stage.actor(
                "stuck",
                builder -> builder.executor(task -> {}) // as good as never
                        .set(SessionSettings.CLOSERS, 1)
                        .set(SessionSettings.HANDLER_LIMIT, Duration.ofSeconds(10)));
        Actor b = stage.actor("b");
        b.stalled = true;
        acquireAndRelease(stuck, "x");
        stage.pass(Stage.GRACE.plus(POLL));
        b.stalled = false;
        stage.pass(Duration.ofSeconds(8));
        assertThat(b.closed).as("renewed while it may run").isEmpty();
        stage.pass(Duration.ofSeconds(12));
        assertThat(b.closed).singleElement().extracting(SessionClaim::attempt).isEqualTo(2);
    }

    @Test
    void onActivateThatThrowsLeavesNoHold() {
        Actor a = stage.actor(
                "a",
                builder -> builder.onActivate(activation -> {
                    throw new IllegalArgumentException("cannot load");
                }));
        assertThatThrownBy(() -> a.sessions.acquire("x")).hasMessage("cannot load");
        assertThat(a.sessions.count("x")).isZero();
        assertThat(a.sessions.serving()).isZero();
    }

    @Test
    void closingReleasesEverythingAtOnce() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        for (int i = 0; i < 300; i++) {
            a.sessions.acquire("s" + i);
        }
        a.sessions.close();
        a.stalled = true;
        assertThat(b.sessions.view().stats().live()).isZero();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(b.closed).hasSize(300);
        assertThat(b.sessions.figures().lapsedLeases())
                .as("it left, it did not lapse")
                .isZero();
    }

    // ---- nonsense

    @Test
    void nonsenseIsRefusedByName() {
        assertThatThrownBy(() ->
                        stage.actor("a", builder -> builder.set(SessionSettings.HEARTBEAT, Duration.ofSeconds(8))))
                .hasMessageContaining("sessions.lease = '9s' is too short for sessions.heartbeat = '8s'");
        Actor a = stage.actor("a");
        assertThatThrownBy(() -> a.sessions.acquire("")).hasMessageContaining("an empty id");
        assertThatThrownBy(() -> a.sessions.acquire("x".repeat(600))).hasMessageContaining("an id of 600 bytes");
        assertThatThrownBy(() -> a.sessions.touch("x")).hasMessageContaining("held by instances");
        assertThatThrownBy(() -> stage.actor("b", builder -> builder.set(SessionSettings.SHARDS, 3)))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.MISUSE))
                .hasMessageContaining("is stored with shards 2")
                .hasMessageContaining("shards 3");
        assertThatThrownBy(() -> new SessionsBuilder(a.client, "a b").start()).hasMessageContaining("a b");
        assertThatThrownBy(() -> new SessionsBuilder(a.client, "x").grace(Duration.ofSeconds(-1)))
                .hasMessageContaining("sessions.grace");
    }

    @Test
    void idsOfAnyBytesAreDataAndNothingElse() {
        Actor a = stage.actor("a");
        for (String id :
                List.of("E", "W", "=", ",a#0123456789abcdef", "x\ny", "ünïcødé ☃", "{session:rooms:0}:due", "0")) {
            long epoch = acquireAndRelease(a, id);
            assertThat(a.sessions.view().show(id))
                    .singleElement()
                    .satisfies(life -> assertThat(life.epoch()).isEqualTo(epoch));
        }
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closed).hasSize(8);
    }

    @Test
    void heldSessionsAreNotClosedByAnOperatorEither() {
        Actor a = stage.actor("a");
        SessionHold hold = a.sessions.acquire("x");
        assertThatThrownBy(() -> a.sessions.view().close("x")).hasMessageContaining("is held by a#");
        hold.close();
        a.sessions.view().close("x");
        stage.pass(POLL);
        assertThat(a.closedIds()).containsExactly("x");
        assertThatThrownBy(() -> a.sessions.view().close("x")).hasMessageContaining("no open session 'x'");
    }

    private static long acquireAndRelease(Actor actor, String id) {
        try (SessionHold hold = actor.sessions.acquire(id)) {
            return hold.epoch();
        }
    }

    private static Call releaseThatNeverArrives(Actor actor, String id) {
        SessionHold hold = actor.sessions.acquire(id);
        actor.loses = call -> call.script().name().equals("release.lua");
        hold.close();
        actor.loses = call -> false;
        return actor.last("release.lua");
    }
}
