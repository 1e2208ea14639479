package io.holdfast.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.redis.graph.Snapshot;
import io.holdfast.redis.session.SessionHold;
import io.holdfast.redis.session.SessionSettings;
import io.holdfast.redis.session.Sessions;
import io.holdfast.testkit.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** A server that stands still (SIGSTOP): nothing that is held ends, and nobody waits for longer than two time-outs. */
class StalledServerIT {

    private static final Duration LEASE = ServingInstance.LEASE;
    private static final Duration TIMEOUT = ServingInstance.TIMEOUT;
    private static final Duration STALL = Duration.ofSeconds(8);

    @Test
    void nothingThatIsHeldEndsAndEveryCallerAnswersInTime() throws Exception {
        List<String> closed = new CopyOnWriteArrayList<>();
        List<String> flushed = new CopyOnWriteArrayList<>();
        try (RedisServer server = RedisServer.start();
                ServingInstance a = new ServingInstance(server, "a", closed, flushed);
                ServingInstance b = new ServingInstance(server, "b", closed, flushed);
                ServingInstance c = new ServingInstance(server, "c", closed, flushed)) {
            List<ServingInstance> all = List.of(a, b, c);
            a.graph.root("main").set(a.put);
            Snapshot snapshot = b.graph.snapshot("main");
            a.graph.root("main").drop();
            await().atMost(Duration.ofSeconds(30))
                    .until(() -> !a.sessions.view().stats().quiet());
            for (int round = 0; round < 2; round++) {
                server.stall();
                assertThat(slowestOf80Acquires(a)).isLessThan(TIMEOUT.toMillis() * 2 + 700);
                Thread.sleep(STALL);
                server.resume();
                Thread.sleep(LEASE.multipliedBy(2).plusSeconds(1));
            }
            assertThat(closed.stream().filter(id -> !id.startsWith("more-")))
                    .as("sessions closed")
                    .isEmpty();
            for (ServingInstance one : all) {
                assertThat(one.own.isValid()).isTrue();
                assertThat(one.shared.isValid()).isTrue();
                assertThat(one.graph.find(one.put)).as("what a writer put").isPresent();
                one.writer.put("more".getBytes(UTF_8), one.put);
                one.writer.flush();
            }
            assertThat(new String(snapshot.get(a.put), UTF_8)).isEqualTo("a");
            assertThat(flushed).as("keys that are held").isEmpty();
            for (ServingInstance one : all) {
                String key = "held-" + one.holdfast.self().instance();
                one.counts.add(key, 10L);
                one.counts.end(key);
            }
            await().atMost(Duration.ofSeconds(60))
                    .untilAsserted(
                            () -> assertThat(flushed).containsExactlyInAnyOrder("held-a=11", "held-b=11", "held-c=11"));
        }
    }

    /** In milliseconds. */
    private static long slowestOf80Acquires(ServingInstance instance) throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(80)) {
            List<Future<Long>> acquires = new ArrayList<>();
            for (int i = 0; i < 80; i++) {
                String id = "more-" + i % 40;
                acquires.add(threads.submit(() -> {
                    long begun = System.nanoTime();
                    try {
                        instance.sessions.acquire(id).close();
                        throw new AssertionError("the server stands still");
                    } catch (HoldfastException e) {
                        assertThat(e.isRetryable()).isTrue();
                    }
                    return (System.nanoTime() - begun) / 1_000_000;
                }));
            }
            long slowest = 0;
            for (Future<Long> acquire : acquires) {
                slowest = Math.max(slowest, acquire.get());
            }
            return slowest;
        }
    }

    /** H10: a client with many shards leaves a server that does not answer within two time-outs. */
    @Test
    void closeOfManyShardsReturnsThoughTheServerHangs() {
        try (RedisServer server = RedisServer.start()) {
            Holdfast holdfast = ServingInstance.client(server, "a");
            Sessions sessions = holdfast.sessions("rooms")
                    .lease(LEASE)
                    .set(SessionSettings.SHARDS, 64)
                    .onClose(claim -> {})
                    .start();
            List<SessionHold> holds = new ArrayList<>();
            for (int i = 0; i < 500; i++) {
                holds.add(sessions.acquire("s" + i));
            }
            server.stall();
            long begun = System.nanoTime();
            sessions.close();
            long millis = (System.nanoTime() - begun) / 1_000_000;
            server.resume();
            holdfast.close();
            assertThat(millis).isLessThan(TIMEOUT.toMillis() * 2 + 700);
            assertThat(holds).hasSize(500).noneMatch(SessionHold::isValid);
        }
    }
}
