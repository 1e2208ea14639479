package io.holdfast.redis.session;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.redis.hold.HoldView.State;
import io.holdfast.redis.session.Stage.Actor;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** Closing, dead letters and callbacks: what reviews and runs found. */
class CloseFindingsIT {

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

    /** H9: work that waits in an executor keeps its claim, and is not run when it has lost it. */
    @Test
    void workInAQueueKeepsItsClaimAndIsNotRunWithoutIt() {
        Deque<Runnable> queue = new ArrayDeque<>();
        Actor a = stage.actor("a", builder -> builder.executor(queue::add));
        Actor b = stage.actor("b");
        b.stalled = true;
        List<String> ids = IntStream.range(0, 40).mapToObj(i -> "x" + i).toList();
        ids.forEach(id -> a.acquire(id).close());
        stage.pass(Stage.GRACE.plus(POLL));
        b.stalled = false;
        assertThat(queue).hasSize(40);
        stage.pass(Stage.CLAIM.multipliedBy(5));
        assertThat(b.closedIds()).as("its claims are renewed while it waits").isEmpty();
        assertThat(queue).as("and none ran out and was claimed again").hasSize(40);
        a.loses = call -> true; // cut off for longer than a claim: b takes all of them over
        stage.pass(Stage.CLAIM.plus(POLL));
        assertThat(b.closedIds()).containsExactlyInAnyOrderElementsOf(ids);
        a.loses = call -> false;
        while (!queue.isEmpty()) {
            queue.remove().run();
        }
        assertThat(a.closed).as("handlers whose claims were lost").isEmpty();
        assertThat(b.sessions.deadLetters(100)).isEmpty();
    }

    /** H10: a handler that runs is awaited and its result is stored before close() returns. */
    @Test
    void closeWaitsForAHandlerThatRuns() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        Actor a = stage.actor(
                "a",
                builder -> builder.executor(task -> Thread.ofPlatform().daemon().start(task)));
        a.handler = claim -> {
            begun.countDown();
            try {
                mayEnd.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException("interrupted", e);
            }
        };
        a.acquire("x").close();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(begun.await(10, SECONDS)).isTrue();
        CompletableFuture<Void> closing = CompletableFuture.runAsync(a.sessions::close);
        await().during(Duration.ofMillis(300)).atMost(Duration.ofSeconds(10)).until(() -> !closing.isDone());
        mayEnd.countDown();
        assertThat(closing).succeedsWithin(Duration.ofSeconds(10));
        assertThat(a.closedIds()).containsExactly("x");
        assertThat(a.sessions.view().stats().closing()).isZero();
    }

    /** H11 and H26: a claimer that dies is no failure of the handler. */
    @Test
    void killedClaimersDoNotUseUpTheAttempts() {
        Actor a = stage.actor("a", builder -> builder.set(SessionSettings.ATTEMPTS, 2));
        a.handler = claim -> {
            throw new IllegalStateException("no result ever reaches the store");
        };
        a.acquire("x").close();
        Deque<Runnable> never = new ArrayDeque<>();
        for (int i = 0; i < 8; i++) {
            Actor killed = stage.actor("killed-" + i, builder -> builder.executor(never::add));
            a.stalled = true;
            stage.pass(Stage.LEASE.plus(Stage.CLAIM));
            killed.die();
        }
        a.handler = claim -> {};
        a.stalled = false;
        stage.pass(Duration.ofSeconds(40));
        assertThat(a.sessions.deadLetters(10)).isEmpty();
        assertThat(a.closedIds()).containsExactly("x");
        assertThat(a.closed.getFirst().attempt()).isGreaterThan(2);
    }

    /** H11: but they are bounded, and the letter says what happened. */
    @Test
    void claimThatRunsOutTwentyTimesIsADeadLetterWithTheReason() {
        Actor a = stage.actor("a");
        a.loses = call -> call.script().name().equals("settle.lua");
        a.acquire("x").close();
        for (int i = 0; i < 60 && a.sessions.deadLetters(1).isEmpty(); i++) {
            stage.pass(Stage.CLAIM);
        }
        assertThat(a.sessions.deadLetters(10)).singleElement().satisfies(letter -> {
            assertThat(letter.attempts()).isEqualTo(20);
            assertThat(letter.evidence()).contains("20 claims ran out without a result, the last by a#");
        });
    }

    /** H11: a dead letter carries its reason and can be discarded. */
    @Test
    void deadLetterHasItsReasonAndCanBeDiscarded() {
        Actor a = stage.actor("a", builder -> builder.set(SessionSettings.ATTEMPTS, 1));
        a.handler = claim -> {
            throw new IllegalStateException("the room has no door");
        };
        SessionHold hold = a.acquire("x");
        long epoch = hold.epoch();
        hold.put("where", "rack 4");
        hold.close();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.sessions.deadLetters(10))
                .singleElement()
                .satisfies(letter -> assertThat(letter.evidence())
                        .startsWith("released by a#")
                        .endsWith("; java.lang.IllegalStateException: the room has no door"));
        a.sessions.discard("x", epoch);
        assertThat(a.sessions.deadLetters(10)).isEmpty();
        assertThat(a.sessions.view().data("x", epoch)).isEmpty();
        try (Jedis jedis = redis.client()) {
            assertThat(jedis.keys("hf:*:closing")).isEmpty();
        }
        assertThat(a.sessions.view().ledger("x").since(Instant.EPOCH, 10))
                .anySatisfy(gone -> assertThat(gone.reason().name()).isEqualTo("DISCARDED"));
        assertThatThrownBy(() -> a.sessions.discard("x", epoch)).hasMessageContaining("no dead letter 'x'");
    }

    /** H20: however many claims there are, they are renewed in one call a shard. */
    @Test
    void claimsAreRenewedTogether() {
        Deque<Runnable> queue = new ArrayDeque<>();
        Actor a = stage.actor("a", builder -> builder.executor(queue::add));
        for (int i = 0; i < 200; i++) {
            a.acquire("x" + i).close();
        }
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(queue).hasSize(200);
        a.sent.clear();
        stage.pass(Stage.CLAIM.dividedBy(3).plusSeconds(1));
        assertThat(a.sent)
                .filteredOn(call -> call.script().name().equals("settle.lua"))
                .hasSizeBetween(Stage.SHARDS, 3 * Stage.SHARDS); // one call a shard in each of three seconds
    }

    /** H27: a handler that never returns is interrupted, reported as failed, named, and keeps its place. */
    @Test
    void handlerThatNeverReturnsIsReportedAndTakenOverByAnother() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        AtomicReference<Boolean> interrupted = new AtomicReference<>(false);
        Actor stuck = stage.actor(
                "stuck",
                builder -> builder.executor(task -> Thread.ofPlatform().daemon().start(task))
                        .set(SessionSettings.CLOSERS, 1)
                        .set(SessionSettings.HANDLER_LIMIT, Duration.ofSeconds(10)));
        stuck.handler = claim -> {
            begun.countDown();
            while (true) {
                try {
                    end.await();
                    return;
                } catch (InterruptedException e) {
                    interrupted.set(true);
                }
            }
        };
        Actor b = stage.actor("b");
        b.stalled = true;
        stuck.acquire("x").close();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(begun.await(10, SECONDS)).isTrue();
        b.stalled = false;
        stage.pass(Duration.ofSeconds(30));
        assertThat(interrupted.get()).isTrue();
        assertThat(b.closed).singleElement().extracting(SessionClaim::attempt).isEqualTo(2);
        assertThat(stuck.sessions.closing()).as("its place is kept").isEqualTo(1);
        end.countDown();
        await().atMost(Duration.ofSeconds(10)).until(() -> stuck.sessions.closing() == 0);
    }

    /** H30: an index entry without a record stops nobody. */
    @Test
    void claimWithoutARecordIsDroppedAndTheOthersGoOn() {
        Actor a = stage.actor("a");
        a.acquire("x").close();
        try (Jedis jedis = redis.client()) {
            for (int shard = 0; shard < Stage.SHARDS; shard++) {
                jedis.zadd("hf:{session:rooms:" + shard + "}:claims", 1, "1700000000000000=ghost");
            }
        }
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closedIds()).containsExactly("x");
        assertThat(a.sessions.figures().negatives()).isEqualTo(Stage.SHARDS);
        assertThat(a.sessions.list(State.CLOSING, 10)).isEmpty();
    }

    /** H13: a repeat of a put that arrives late reverts nothing. */
    @Test
    void lateRepeatOfAPutDoesNotRevertAnothersField() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold ofA = a.acquire("x");
        SessionHold ofB = b.acquire("x");
        ofA.put("state", "old");
        ofB.put("state", "new");
        stage.link.call(a.last("put.lua"));
        assertThat(ofA.data()).containsEntry("state", "new");
    }

    /** H15: touching waits for an earlier life like acquiring does. */
    @Test
    void touchDoesNotOvertakeAnUnfinishedLife() {
        Deque<Runnable> queue = new ArrayDeque<>();
        Actor a =
                stage.actor("a", builder -> builder.idle(Duration.ofSeconds(5)).executor(queue::add));
        a.sessions.touch("x");
        stage.pass(Duration.ofSeconds(5).plus(POLL));
        assertThat(queue).hasSize(1);
        assertThatThrownBy(() -> a.sessions.touch("x"))
                .isInstanceOfSatisfying(
                        HoldfastException.class,
                        e -> assertThat(e.isRetryable()).isTrue())
                .hasMessageContaining("is still being closed");
        queue.remove().run();
        assertThat(a.sessions.touch("x")).isPositive();
    }

    /** H15 and H24: a session that is lost here and being closed elsewhere gives no hold of the old life. */
    @Test
    void acquireOfALostSessionThatIsBeingClosedIsRefused() {
        Deque<Runnable> closing = new ArrayDeque<>();
        Actor a = stage.actor("a");
        stage.actor("b", builder -> builder.executor(closing::add));
        SessionHold before = a.acquire("x");
        long epoch = before.epoch();
        a.loses = call -> true;
        stage.pass(Stage.LEASE.plus(Stage.GRACE).plus(POLL));
        assertThat(closing).as("the other one closes it").isNotEmpty();
        a.loses = call -> false;
        stage.pass(Duration.ofSeconds(4));
        assertThatThrownBy(() -> a.acquire("x"))
                .isInstanceOfSatisfying(
                        HoldfastException.class,
                        e -> assertThat(e.isRetryable()).isTrue());
        while (!closing.isEmpty()) {
            closing.remove().run();
        }
        SessionHold after = a.acquire("x");
        assertThat(after.isValid()).isTrue();
        assertThat(after.epoch()).isGreaterThan(epoch);
    }

    /** H15: a thread that was interrupted does not spin, and keeps its interrupt. */
    @Test
    void interruptedThreadStopsWaitingForAnEarlierLife() {
        Deque<Runnable> queue = new ArrayDeque<>();
        Actor a = stage.actor(
                "a", builder -> builder.executor(queue::add).set(SessionSettings.CLOSING_WAIT, Duration.ofMinutes(5)));
        a.acquire("x").close();
        stage.pass(Stage.GRACE.plus(POLL));
        CompletableFuture<String> end = new CompletableFuture<>();
        Thread waiting = Thread.ofPlatform().start(() -> {
            try {
                a.acquire("x");
                end.complete("acquired");
            } catch (HoldfastException e) {
                end.complete(e.getMessage() + ", still interrupted: "
                        + Thread.currentThread().isInterrupted());
            }
        });
        while (waiting.isAlive() && waiting.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        waiting.interrupt();
        assertThat(end).succeedsWithin(Duration.ofSeconds(60)).asString().contains("interrupted while acquiring");
        assertThat(end.join()).endsWith("still interrupted: true");
    }

    /** H15: an executor that refuses does not swallow a loss. */
    @Test
    void executorThatRefusesDoesNotSwallowALoss() {
        List<SessionLost> lost = new ArrayList<>();
        Actor a = stage.actor(
                "a",
                builder -> builder.onLost(all -> {
                            synchronized (lost) {
                                lost.addAll(all);
                            }
                        })
                        .executor(task -> {
                            throw new RejectedExecutionException("planted");
                        }));
        a.acquire("x");
        a.loses = call -> true;
        stage.pass(Stage.LEASE.plus(POLL));
        await().atMost(Duration.ofSeconds(10)).untilAsserted(() -> {
            synchronized (lost) {
                assertThat(lost).extracting(SessionLost::id).containsExactly("x");
            }
        });
    }

    /** H16: a loss is told on a platform thread, and all that were lost together in one call. */
    @Test
    void lossesAreToldTogetherOnAPlatformThread() throws Exception {
        CountDownLatch told = new CountDownLatch(1);
        List<Integer> sizes = new ArrayList<>();
        List<Boolean> virtual = new ArrayList<>();
        Actor a = stage.actor(
                "a",
                builder -> builder.executor(null).onLost(all -> {
                    sizes.add(all.size());
                    virtual.add(Thread.currentThread().isVirtual());
                    told.countDown();
                }));
        for (int i = 0; i < 50; i++) {
            a.acquire("x" + i);
        }
        a.loses = call -> true;
        stage.time.advance(Stage.LEASE);
        stage.step();
        assertThat(told.await(10, SECONDS)).isTrue();
        assertThat(sizes).containsExactly(50);
        assertThat(virtual).containsExactly(false);
    }

    /** A new life after a loss is announced like any other. */
    @Test
    void newLifeAfterALossIsActivated() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.acquire("x");
        long first = hold.epoch();
        a.loses = call -> true;
        stage.pass(Stage.LEASE.plus(Stage.GRACE).plus(POLL));
        assertThat(b.closedIds()).containsExactly("x");
        a.loses = call -> false;
        stage.pass(Duration.ofSeconds(10));
        assertThat(hold.epoch()).isGreaterThan(first);
        assertThat(a.activated).extracting(SessionActivation::epoch).containsExactly(first, hold.epoch());
    }

    @Test
    void lastDisconnectCanBeRead() {
        Actor a = stage.actor("a");
        a.acquire("x").close();
        Instant since = a.sessions.view().open("x").orElseThrow().since();
        assertThat(since).isNotNull();
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closed)
                .singleElement()
                .extracting(SessionClaim::lastDisconnect)
                .isEqualTo(since);
    }

    @Test
    void sessionCanBeEndedAndIsRefusedWhileHeldUnlessForced() {
        Actor a = stage.actor("a");
        SessionHold hold = a.acquire("x");
        assertThatThrownBy(() -> a.sessions.end("x"))
                .isInstanceOfSatisfying(
                        HoldfastException.class,
                        e -> assertThat(e.category()).isEqualTo(HoldfastException.Category.RETRY));
        a.sessions.end("x", true);
        stage.pass(POLL);
        assertThat(a.closed)
                .singleElement()
                .satisfies(claim -> assertThat(claim.evidence()).startsWith("ended by a#"));
        hold.close();
        a.acquire("y").close();
        a.sessions.end("y");
        stage.pass(POLL);
        assertThat(a.closedIds()).containsExactly("x", "y");
    }

    /** What is dropped without close() must not live as long as the process. */
    @Test
    void holdThatIsDroppedIsReleased() {
        Actor a = stage.actor("a");
        acquireAndDrop(a, "x");
        await().atMost(Duration.ofSeconds(30)).until(() -> {
            System.gc();
            stage.pass(POLL);
            return a.sessions.count("x") == 0;
        });
        stage.pass(Stage.GRACE.plus(POLL));
        assertThat(a.closedIds()).containsExactly("x");
    }

    private static void acquireAndDrop(Actor actor, String id) {
        actor.sessions.acquire(id);
    }
}
