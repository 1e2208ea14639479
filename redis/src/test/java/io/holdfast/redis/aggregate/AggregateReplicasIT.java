package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.hold.HoldView.State;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.testkit.RedisReplication;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** Aggregates that wait for replicas, and a replica that is gone. */
class AggregateReplicasIT {

    private static final String META = "hf:{aggregate:visits:0}:meta";

    private RedisReplication servers;
    private Holdfast holdfast;
    private Aggregates<Visit> visits;
    private final List<String> rows = new CopyOnWriteArrayList<>();
    private volatile Consumer<Flush<Visit>> onFlush = flush -> {};

    @BeforeEach
    void start() {
        servers = RedisReplication.start();
        holdfast = Holdfast.builder()
                .uri(servers.primary().uri().toString())
                .set(LinkSettings.WAIT_REPLICAS, 1)
                .set(LinkSettings.TIMEOUT, Duration.ofMillis(400))
                .open();
        servers.awaitInSync();
        visits = holdfast.aggregates("visits", Visit.class, Visit::merge)
                .set(AggregateSettings.SHARDS, 1)
                .set(AggregateSettings.LEASE, Duration.ofSeconds(2))
                .set(AggregateSettings.CLAIM, Duration.ofMillis(500))
                .set(AggregateSettings.ATTEMPTS, 2)
                .set(AggregateSettings.RETRY_PAUSE, Duration.ofMillis(20))
                .sink(this::write)
                .start();
    }

    @AfterEach
    void stop() {
        visits.close();
        holdfast.close();
        servers.close();
    }

    private void write(List<Flush<Visit>> batch) {
        for (Flush<Visit> flush : batch) {
            onFlush.accept(flush);
            rows.add(flush.key() + " " + flush.value().views());
        }
    }

    @Test
    void missingReplicaPausesFlushingAndMakesNoDeadLetter() {
        visits.add("a", Visit.of(1));
        visits.add("b", Visit.of(2));
        visits.publish();
        servers.cutReplica();
        for (String key : List.of("a", "b")) {
            try {
                visits.forceEnd(key);
            } catch (HoldfastException e) {
                assertThat(e.isRetryable()).isTrue(); // it was done, but no replica has it
            }
        }
        // Each claim raises the token: more claims than attempts were given, and given back.
        long first = awaitTokenAbove(0);
        long second = awaitTokenAbove(first);
        long third = awaitTokenAbove(second);
        awaitTokenAbove(third);
        assertThat(rows).as("flushed without a replica that knows").isEmpty();
        try (Holdfast looking = Holdfast.connect(servers.primary().uri().toString())) {
            AggregateView view = AggregateView.find(looking.link(), "visits").orElseThrow();
            assertThat(view.list(State.CLOSING, 10)).hasSize(2).allMatch(epoch -> epoch.attempts() == 0);
            servers.joinReplica();
            await().atMost(Duration.ofSeconds(60))
                    .untilAsserted(() -> assertThat(rows).containsExactlyInAnyOrder("a 1", "b 2"));
            assertThat(view.list(State.DEAD_LETTER, 10)).isEmpty();
        }
    }

    private long awaitTokenAbove(long last) {
        return await().atMost(Duration.ofSeconds(30)).until(this::token, token -> token > last);
    }

    private long token() {
        try (Jedis primary = servers.primary().client()) {
            String token = primary.hget(META, "token");
            return token == null ? 0 : Long.parseLong(token);
        }
    }

    @Test
    void updateIsDurableWhenAReplicaHasItAndCountsOnce() {
        servers.cutReplica();
        CompletableFuture<?> stage =
                visits.add("a", Visit.of(1), Position.at("t", 0, 7)).toCompletableFuture();
        await().atMost(Duration.ofSeconds(30)).until(() -> visits.figures().unanswered() >= 2);
        assertThat(stage).isNotDone();
        assertThat(visits.durable("t", 0)).isEmpty();
        servers.joinReplica();
        await().atMost(Duration.ofSeconds(30)).until(stage::isDone);
        assertThat(visits.durable("t", 0)).hasValue(7);
        assertThat(visits.peek("a")).contains(Visit.of(1));
    }

    @Test
    void flushThatNoReplicaKnowsOfIsDoneAllTheSame() {
        onFlush = flush -> servers.cutReplica();
        visits.add("a", Visit.of(1));
        visits.publish();
        visits.forceEnd("a");
        await().atMost(Duration.ofSeconds(30)).until(() -> visits.figures().flushed() == 1);
        assertThat(rows).containsExactly("a 1");
        onFlush = flush -> {};
        servers.joinReplica();
        visits.add("b", Visit.of(2));
        visits.publish();
        visits.forceEnd("b");
        await().atMost(Duration.ofSeconds(60))
                .untilAsserted(() -> assertThat(rows).containsExactly("a 1", "b 2"));
        assertThat(visits.view().list(State.DEAD_LETTER, 10)).isEmpty();
    }
}
