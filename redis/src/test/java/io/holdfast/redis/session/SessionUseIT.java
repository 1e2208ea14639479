package io.holdfast.redis.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ReclaimReason;
import io.holdfast.ThingId;
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

/** Clients, data, idle mode, handlers, and nonsense. */
class SessionUseIT {

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

    // ---- clients, data, idle mode

    @Test
    void onlyTheFirstAndTheLastClientOfAnInstanceTalkToTheStore() {
        Actor a = stage.actor("a");
        SessionHold first = a.acquire("x");
        int sent = a.sent.size();
        SessionHold second = a.acquire("x");
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
        SessionHold ofA = a.acquire("x");
        SessionHold ofB = b.acquire("x");
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
        SessionHold ofA = a.acquire("x");
        b.acquire("x");
        b.die();
        ofA.close();
        stage.pass(Stage.LEASE.plus(Stage.GRACE).plus(POLL));
        assertThat(a.closedIds()).containsExactly("x");
    }

    @Test
    void dataFieldsReachTheOthersAndTheClose() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold ofA = a.acquire("x");
        SessionHold ofB = b.acquire("x");
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
        assertThatThrownBy(() -> a.acquire("x")).hasMessageContaining("idle mode");
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
        a.handler = claim -> {};
        SessionHold newer = a.acquire("x"); // a dead letter does not block a new life
        assertThatThrownBy(() -> a.sessions.retry("x", epoch))
                .as("H21: its onClose would stop what is served now")
                .hasMessageContaining("a newer life of session 'x' is open");
        stage.pass(POLL);
        assertThat(a.closed).isEmpty();
        newer.close();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closed).hasSize(1);
        a.sessions.retry("x", epoch);
        stage.pass(POLL);
        assertThat(a.closed).extracting(SessionClaim::epoch).hasSize(2).contains(epoch);
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
    void workThatAnExecutorNeverBeginsIsGivenBackAndDoesNotCount() {
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
        assertThat(b.closed).singleElement().extracting(SessionClaim::attempt).isEqualTo(1);
    }

    @Test
    void onActivateThatThrowsLeavesNoHold() {
        Actor a = stage.actor(
                "a",
                builder -> builder.onActivate(activation -> {
                    throw new IllegalArgumentException("cannot load");
                }));
        assertThatThrownBy(() -> a.acquire("x")).hasMessage("cannot load");
        assertThat(a.sessions.count("x")).isZero();
        assertThat(a.sessions.serving()).isZero();
    }

    @Test
    void closingReleasesEverythingAtOnce() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        for (int i = 0; i < 300; i++) {
            a.acquire("s" + i);
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
        assertThatThrownBy(() -> a.acquire("")).hasMessageContaining("an empty id");
        assertThatThrownBy(() -> a.acquire("x".repeat(600))).hasMessageContaining("an id of 600 bytes");
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
        SessionHold hold = a.acquire("x");
        assertThatThrownBy(() -> a.sessions.view().end("x", false, "an operator"))
                .hasMessageContaining("is held by a#");
        hold.close();
        a.sessions.view().end("x", false, "an operator");
        stage.pass(POLL);
        assertThat(a.closedIds()).containsExactly("x");
        assertThatThrownBy(() -> a.sessions.view().end("x", false, "an operator"))
                .hasMessageContaining("no open session 'x'");
    }

    private static long acquireAndRelease(Actor actor, String id) {
        try (SessionHold hold = actor.acquire(id)) {
            return hold.epoch();
        }
    }
}
