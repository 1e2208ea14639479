package io.holdfast.redis.link;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Callers that share round trips, over a server that is a function. */
final class GatheringTest {

    private static final Script SCRIPT =
            Script.load(GatheringTest.class, "sample.lua", "meta values", "name count ids…", "status");
    private static final Duration PATIENT = Duration.ofSeconds(60);

    private final ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor();
    private final List<Integer> sizes = new ArrayList<>();

    @AfterEach
    void stop() {
        callers.shutdownNow();
    }

    private static Call call(String name) {
        byte[] key = "key".getBytes(US_ASCII);
        byte[] one = "1".getBytes(US_ASCII);
        return new Call(SCRIPT, List.of(key, key), List.of(name.getBytes(US_ASCII), one, one));
    }

    private static Outcome echo(Call call) {
        return new Outcome(new Reply(List.of(call.arguments().getFirst())), null);
    }

    private List<Outcome> answer(List<Call> calls) {
        synchronized (sizes) {
            sizes.add(calls.size());
        }
        return calls.stream().map(GatheringTest::echo).toList();
    }

    @Test
    void aLoneCallIsSentAtOnceAndAlone() {
        Gathering gathering = new Gathering(1, PATIENT, this::answer);
        assertThat(gathering.call(call("a")).get().text(0)).isEqualTo("a");
        assertThat(gathering.call(call("b")).get().text(0)).isEqualTo("b");
        assertThat(sizes).containsExactly(1, 1);
    }

    @Test
    void callersThatWaitShareARoundTripAndEachGetsItsOwnReply() throws Exception {
        CountDownLatch allQueued = new CountDownLatch(1);
        AtomicInteger inFlight = new AtomicInteger();
        Gathering gathering = new Gathering(1, PATIENT, calls -> {
            inFlight.incrementAndGet();
            awaitLatch(allQueued);
            return answer(calls);
        });
        List<Future<String>> replies = new ArrayList<>();
        replies.add(callers.submit(() -> gathering.call(call("first")).get().text(0)));
        await().until(() -> inFlight.get() == 1);
        AtomicInteger started = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            String name = "caller-" + i;
            replies.add(callers.submit(() -> {
                synchronized (threads) {
                    threads.add(Thread.currentThread());
                }
                started.incrementAndGet();
                return gathering.call(call(name)).get().text(0);
            }));
        }
        await().until(() -> started.get() == 100 && areParked(threads));
        allQueued.countDown();
        assertThat(replies.getFirst().get()).isEqualTo("first");
        for (int i = 0; i < 100; i++) {
            assertThat(replies.get(i + 1).get()).isEqualTo("caller-" + i);
        }
        assertThat(sizes).containsExactly(1, Gathering.MOST, 100 - Gathering.MOST);
    }

    private static boolean areParked(List<Thread> threads) {
        synchronized (threads) {
            return threads.stream().allMatch(thread -> thread.getState() == Thread.State.TIMED_WAITING);
        }
    }

    @Test
    void whoWaitsTooLongTakesItsCallBack() throws Exception {
        CountDownLatch stalled = new CountDownLatch(1);
        AtomicInteger sent = new AtomicInteger();
        Gathering gathering = new Gathering(1, Duration.ofMillis(50), calls -> {
            sent.addAndGet(calls.size());
            awaitLatch(stalled);
            return answer(calls);
        });
        Future<String> first =
                callers.submit(() -> gathering.call(call("first")).get().text(0));
        await().until(() -> sent.get() == 1);
        Outcome late = gathering.call(call("late"));
        HoldfastException failure = Objects.requireNonNull(late.failure());
        assertThat(failure.category()).isEqualTo(Category.RETRY);
        assertThat(failure).hasMessageContaining("no connection became free within 50 ms");
        stalled.countDown();
        assertThat(first.get()).isEqualTo("first");
        assertThat(sent).hasValue(1);
        assertThat(gathering.call(call("next")).get().text(0)).isEqualTo("next");
    }

    @Test
    void aBugInSendingReachesEveryCallerAndTheTurnGoesOn() throws Exception {
        CountDownLatch queued = new CountDownLatch(1);
        AtomicInteger turn = new AtomicInteger();
        Gathering gathering = new Gathering(1, PATIENT, calls -> {
            if (turn.incrementAndGet() == 1) {
                awaitLatch(queued);
                return answer(calls);
            }
            if (turn.get() == 2) {
                throw new IllegalStateException("broken");
            }
            return answer(calls);
        });
        Future<Outcome> first = callers.submit(() -> gathering.call(call("first")));
        await().until(() -> turn.get() == 1);
        List<Thread> threads = new ArrayList<>();
        List<Future<Outcome>> others = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            others.add(callers.submit(() -> {
                synchronized (threads) {
                    threads.add(Thread.currentThread());
                }
                return gathering.call(call("other"));
            }));
        }
        await().until(() -> threads.size() == 3 && areParked(threads));
        queued.countDown();
        assertThat(first.get().get().text(0)).isEqualTo("first");
        int thrown = 0;
        for (Future<Outcome> other : others) {
            try {
                HoldfastException failure = Objects.requireNonNull(other.get().failure());
                assertThat(failure.category()).isEqualTo(Category.RETRY);
            } catch (ExecutionException e) {
                assertThat(e).hasRootCauseMessage("broken");
                thrown++;
            }
        }
        assertThat(thrown).isEqualTo(1);
        assertThat(gathering.call(call("next")).get().text(0)).isEqualTo("next");
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
