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
    void shardThatRefusesToWriteStopsNoCloseInTheOthers() {
        Actor a = stage.actor("a");
        a.refuses = in(0).and(script("lapse.lua").or(script("claim.lua")));
        for (String id : ids(1, 3)) {
            a.sessions.acquire(id).close();
            stage.pass(Stage.GRACE.plus(POLL));
            assertThat(a.closedIds()).contains(id);
            stage.pass(Duration.ofMinutes(2));
        }
    }

    // ---- one handler

    @Test
    void noMoreHandlersRunThanThereAreClosers() {
        Deque<Runnable> handlers = new ArrayDeque<>();
        Actor a = stage.actor("a", builder -> builder.executor(handlers::add).set(SessionSettings.CLOSERS, 1));
        ids(0, 5).forEach(id -> a.sessions.acquire(id).close());
        ids(1, 5).forEach(id -> a.sessions.acquire(id).close());
        int rounds = 0;
        while (a.closed.size() < 10 && rounds++ < 30) {
            stage.pass(Stage.GRACE.plus(POLL));
            assertThat(handlers).hasSizeLessThan(2);
            handlers.forEach(Runnable::run);
            handlers.clear();
        }
        assertThat(a.closed).hasSize(10);
    }

    // ---- one after the other

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
