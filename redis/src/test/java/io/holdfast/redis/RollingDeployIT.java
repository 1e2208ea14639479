package io.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.Settings;
import io.holdfast.redis.aggregate.AggregateSettings;
import io.holdfast.redis.aggregate.Aggregates;
import io.holdfast.redis.session.SessionHold;
import io.holdfast.redis.session.SessionSettings;
import io.holdfast.redis.session.Sessions;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Three instances that are replaced one after the other while sessions are being closed and keys are being flushed: close() waits for
 * what runs, so each session is closed by its first attempt, each key is flushed, and there is no dead letter.
 * {@code -Dshapes=full}: 10,000 sessions and 5,000 keys.
 */
class RollingDeployIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final boolean FULL = "full".equals(System.getProperty("shapes"));
    private static final int SESSIONS = FULL ? 10_000 : 600;
    private static final int KEYS = FULL ? 5_000 : 300;
    private static final int INSTANCES = 3;
    private static final Duration LEASE = Duration.ofSeconds(2);

    private final Map<String, Integer> closes = new ConcurrentHashMap<>();
    private final Map<String, Long> rows = new ConcurrentHashMap<>();
    private final AtomicInteger laterAttempts = new AtomicInteger();

    /** One process of a release. */
    private final class Instance {
        final Holdfast holdfast;
        final Sessions rooms;
        final Aggregates<Long> visits;
        final List<SessionHold> held = new ArrayList<>();

        Instance(String name) {
            holdfast = Holdfast.builder(Settings.none())
                    .uri(redis.uri().toString())
                    .instance(name)
                    .open();
            rooms = holdfast.sessions("rooms")
                    .lease(LEASE)
                    .grace(Duration.ZERO)
                    .set(SessionSettings.RETRY_PAUSE, Duration.ofMillis(100))
                    .onClose(claim -> {
                        work();
                        laterAttempts.addAndGet(claim.attempt() > 1 ? 1 : 0);
                        closes.merge(claim.id(), 1, Integer::sum);
                    })
                    .start();
            visits = holdfast.aggregates("visits", Long.class, Long::sum)
                    .set(AggregateSettings.LEASE, LEASE)
                    .softWindow(Duration.ofSeconds(1))
                    .hardWindow(Duration.ofMinutes(1))
                    .sink(batch -> {
                        work();
                        batch.forEach(
                                flush -> rows.merge(flush.key() + "/" + flush.epoch(), flush.value(), (a, b) -> a));
                    })
                    .start();
        }

        void use(ExecutorService threads, int number) throws Exception {
            List<Future<SessionHold>> acquired = new ArrayList<>();
            for (int i = number; i < SESSIONS; i += INSTANCES) {
                String id = "s" + i;
                acquired.add(threads.submit(() -> rooms.acquire(id)));
            }
            for (Future<SessionHold> one : acquired) {
                held.add(one.get());
            }
            for (int i = 0; i < KEYS; i++) {
                visits.add("k" + i, 1L);
            }
        }
    }

    /** What a handler does: long enough that some of it runs when its instance is closed. */
    private static void work() {
        try {
            Thread.sleep(20);
        } catch (InterruptedException e) {
            throw new IllegalStateException("a handler was interrupted by the deploy", e);
        }
    }

    @Test
    void noAttemptIsLostAndThereIsNoDeadLetter() throws Exception {
        List<Instance> old = new ArrayList<>();
        List<Instance> replaced = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < INSTANCES; i++) {
                old.add(new Instance("old-" + i));
                old.get(i).use(threads, i);
            }
            for (int i = 0; i < INSTANCES; i++) {
                old.get(i).holdfast.close();
                replaced.add(new Instance("new-" + i));
            }
            await().atMost(Duration.ofMinutes(3)).untilAsserted(() -> {
                assertThat(closes).hasSize(SESSIONS);
                assertThat(rows.values().stream().mapToLong(Long::longValue).sum())
                        .isEqualTo((long) KEYS * INSTANCES);
            });
            Instance last = replaced.getLast();
            await().atMost(Duration.ofSeconds(30))
                    .until(() -> last.rooms.view().stats().closing() == 0);
            assertThat(closes.values()).as("each is closed once").containsOnly(1);
            assertThat(laterAttempts).as("attempts after the first").hasValue(0);
            assertThat(last.rooms.deadLetters(10)).isEmpty();
            assertThat(last.visits.view().stats().holds().deadLetters()).isZero();
        } finally {
            old.forEach(instance -> instance.holdfast.close());
            replaced.forEach(instance -> instance.holdfast.close());
        }
    }
}
