package io.holdfast.redis.session;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ThingId;
import io.holdfast.redis.hold.HoldSet;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.session.Stage.Actor;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A part of the system fails, is slow or throws: what is well goes on. */
class SessionFaultsIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final Duration POLL = Duration.ofSeconds(2);
    private static final Duration TIMEOUT = Duration.ofSeconds(2);

    private Stage stage;

    @BeforeEach
    void open() {
        stage = new Stage(redis.server());
    }

    @AfterEach
    void close() {
        stage.close();
    }

    // ---- one shard

    @Test
    void fullShardKeepsNobodyFromBeatingInTheOthers() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.acquire(ids(1, 1).getFirst());
        a.acquire(ids(0, 1).getFirst());
        a.stalled = true;
        stage.pass(Stage.LEASE.plus(POLL));
        a.refuses = in(0).and(script("acquire.lua"));
        a.stalled = false;
        stage.pass(Duration.ofMinutes(2));
        assertThat(hold.isValid()).isTrue();
        assertThat(a.closedIds()).doesNotContain(hold.id());
        assertThat(b.closedIds()).doesNotContain(hold.id());
    }

    @Test
    void shardThatRefusesToWriteStopsNoCloseInTheOthers() {
        Actor a = stage.actor("a");
        a.refuses = in(0).and(script("lapse.lua").or(script("claim.lua")));
        for (String id : ids(1, 3)) {
            a.acquire(id).close();
            stage.pass(Stage.GRACE.plus(POLL));
            assertThat(a.closedIds()).contains(id);
            stage.pass(Duration.ofMinutes(2));
        }
    }

    @Test
    void claimsAreRenewedWhereTheStoreAnswersWhileAnotherShardHangs() {
        Deque<Runnable> handlers = new ArrayDeque<>();
        Actor a = stage.actor("a", builder -> builder.executor(handlers::add));
        String well = ids(1, 1).getFirst();
        ids(0, 20).forEach(id -> a.acquire(id).close());
        a.acquire(well).close();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.sessions.closing()).isEqualTo(21);
        Actor b = stage.actor("b");
        a.loses = hanging(a, in(0).and(script("settle.lua")));
        stage.pass(Duration.ofSeconds(30));
        assertThat(b.closedIds()).doesNotContain(well);
    }

    @Test
    void whatIsReleasedAgainDoesNotKeepTheHeartWaiting() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.acquire(ids(1, 1).getFirst());
        List<SessionHold> others = ids(0, 50).stream().map(id -> a.acquire(id)).toList();
        a.loses = in(0).and(script("release.lua"));
        others.forEach(SessionHold::close);
        a.loses = hanging(a, in(0).and(script("release.lua")));
        stage.pass(Duration.ofMinutes(1));
        assertThat(a.lost).isEmpty();
        assertThat(hold.isValid()).isTrue();
        assertThat(a.closedIds()).doesNotContain(hold.id());
        assertThat(b.closedIds()).doesNotContain(hold.id());
    }

    @Test
    void instanceThatIsClosedLeavesTheShardsThatItReachesAndDoesNotWaitLongForTheOthers() {
        Actor a = stage.actor("a");
        ids(0, 50).forEach(id -> a.acquire(id));
        ids(1, 50).forEach(id -> a.acquire(id));
        List<Call> lost = new ArrayList<>();
        a.loses = in(0).and(call -> lost.add(call));
        a.sessions.close();
        assertThat(lost).hasSizeLessThan(8);
        assertThat(a.sessions.view().stats().live()).isEqualTo(50);
        assertThat(a.sent.stream().filter(script("leave.lua").and(in(1)))).hasSize(1);
    }

    // ---- one handler

    @Test
    void executorThatRefusesTakesNoAttemptAndKeepsNoOtherFromBeingClosed() {
        boolean[] refuses = {true};
        Actor a = stage.actor(
                "a",
                builder -> builder.executor(task -> {
                    if (refuses[0]) {
                        throw new RejectedExecutionException("full");
                    }
                    task.run();
                }));
        ids(0, 3).forEach(id -> a.acquire(id).close());
        ids(1, 3).forEach(id -> a.acquire(id).close());
        stage.pass(Duration.ofMinutes(5));
        assertThat(a.sessions.deadLetters(10)).isEmpty();
        refuses[0] = false;
        stage.pass(Duration.ofMinutes(1));
        assertThat(a.closedIds()).hasSize(6);
        assertThat(a.closed).allMatch(claim -> claim.attempt() == 1);
    }

    @Test
    void noMoreHandlersRunThanThereAreClosers() {
        Deque<Runnable> handlers = new ArrayDeque<>();
        Actor a = stage.actor("a", builder -> builder.executor(handlers::add).set(SessionSettings.CLOSERS, 1));
        ids(0, 5).forEach(id -> a.acquire(id).close());
        ids(1, 5).forEach(id -> a.acquire(id).close());
        int rounds = 0;
        while (a.closed.size() < 10 && rounds++ < 30) {
            stage.pass(Stage.GRACE.plus(POLL));
            assertThat(handlers).hasSizeLessThan(2);
            handlers.forEach(Runnable::run);
            handlers.clear();
        }
        assertThat(a.closed).hasSize(10);
    }

    @Test
    void callbackThatFailsKeepsNoneFromBeingToldLater() {
        List<SessionRegained> regained = new ArrayList<>();
        Actor a = stage.actor(
                "a",
                builder -> builder.onLost(lost -> {
                            throw new AssertionError("a bug of the application");
                        })
                        .onRegained(regained::addAll));
        a.acquire("x");
        a.loses = script("renew.lua");
        stage.pass(Stage.LEASE);
        a.loses = call -> false;
        stage.pass(POLL);
        assertThat(regained).hasSize(1);
    }

    @Test
    void sessionThatIsBeingActivatedMakesNoOtherDoubtful() throws Exception {
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        List<String> same = ids(0, 2);
        Actor a = stage.actor(
                "a",
                builder -> builder.onActivate(activation -> {
                    if (activation.id().equals(same.getLast())) {
                        entered.countDown();
                        awaitQuietly(leave);
                    }
                }));
        stage.actor("b");
        SessionHold hold = a.acquire(same.getFirst());
        Thread slow = Thread.startVirtualThread(() -> a.acquire(same.getLast()));
        entered.await();
        try {
            a.stalled = true;
            stage.pass(Stage.LEASE.plus(POLL));
            a.stalled = false;
            stage.pass(POLL);
            assertThat(hold.isValid()).isTrue();
        } finally {
            leave.countDown();
            slow.join();
        }
    }

    // ---- one after the other

    @Test
    void noSessionStaysLostThatWasLostWhileTheOthersWereRegained() {
        boolean[] armed = {false};
        Actor[] it = new Actor[1];
        Actor a = stage.actor(
                "a",
                builder -> builder.executor(task -> {
                    if (armed[0]) {
                        armed[0] = false; // the watch has just told of the first; the heartbeat comes in between
                        it[0].loses = call -> false;
                        stage.passUnattended(Duration.ofSeconds(1));
                        it[0].duties.runDue();
                    }
                    task.run();
                }));
        it[0] = a;
        List<SessionHold> holds = ids(0, 10).stream().map(id -> a.acquire(id)).toList();
        stage.pass(POLL);
        a.loses = script("renew.lua");
        armed[0] = true;
        for (int i = 0; i < 1_000 && armed[0]; i++) {
            stage.passUnattended(Duration.ofMillis(20));
            a.duties.runDue();
        }
        assertThat(armed[0]).isFalse();
        stage.pass(Duration.ofSeconds(30));
        assertThat(holds).allMatch(SessionHold::isValid);
    }

    /** An acquire waits for an earlier life, under the lock of its session: a close of another hold does not wait for it. */
    @Test
    void closeOfAHoldDoesNotWaitForAnAcquireOfTheSameSession() throws Exception {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.acquire("x");
        CountDownLatch closing = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        b.handler = claim -> {
            closing.countDown();
            awaitQuietly(release);
        };
        a.stalled = true;
        Thread others = Thread.ofPlatform()
                .start(() -> stage.passWithout(a, Stage.LEASE.plus(Stage.GRACE).plusSeconds(5)));
        closing.await();
        a.duties.runDue(); // its lease is gone: the session is lost here, and being closed there
        Thread acquiring = Thread.ofPlatform().start(() -> {
            try {
                a.sessions.acquire("x", Duration.ofMinutes(5)).close();
            } catch (HoldfastException e) {
                // interrupted in the end
            }
        });
        while (acquiring.isAlive() && acquiring.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        Thread leaving = Thread.ofPlatform().start(hold::close);
        boolean left = leaving.join(Duration.ofSeconds(30));
        acquiring.interrupt();
        release.countDown();
        acquiring.join();
        leaving.join();
        others.join();
        assertThat(left).as("closed before the acquire ended").isTrue();
    }

    @Test
    void instanceThatWasClosedTakesNoMoreHolds() {
        Actor a = stage.actor("a");
        a.sessions.close();
        assertThatThrownBy(() -> a.acquire("x"))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.MISUSE));
    }

    @Test
    void instanceThatOnlyTendsGivesTheDeadTheGraceOfTheApplication() {
        Actor a = stage.actor("a", builder -> builder.grace(Duration.ofMinutes(1)));
        Actor daemon = stage.actor("daemon", SessionsBuilder::tending);
        a.acquire("x");
        a.die();
        stage.pass(Stage.LEASE.plusSeconds(50));
        assertThat(daemon.closed).isEmpty();
        stage.pass(Duration.ofSeconds(15));
        assertThat(daemon.closedIds()).containsExactly("x");
    }

    // ---- the means

    private static Predicate<Call> in(int shard) {
        return call -> new String(call.keys().getFirst(), UTF_8).contains("rooms:" + shard + "}");
    }

    private static Predicate<Call> script(String name) {
        return call -> call.script().name().equals(name);
    }

    /** Such calls get no answer, and whoever waits for it waits for the link's time-out. */
    private Predicate<Call> hanging(Actor waiting, Predicate<Call> such) {
        return call -> {
            boolean hangs = such.test(call);
            if (hangs) {
                stage.passWithout(waiting, TIMEOUT);
            }
            return hangs;
        };
    }

    private static List<String> ids(int shard, int count) {
        var set = new HoldSet(ThingId.Kind.SESSION, Stage.SET, Stage.SHARDS, HoldSet.Mode.HOLDERS);
        return IntStream.iterate(0, i -> i + 1)
                .mapToObj(i -> "s" + i)
                .filter(id -> set.shardOf(id) == shard)
                .limit(count)
                .toList();
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
