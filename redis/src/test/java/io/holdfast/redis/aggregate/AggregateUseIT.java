package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.aggregate.Stage.Actor;
import io.holdfast.redis.hold.HoldView.State;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** Reading an open key, ending one on purpose, and a server whose memory is full. */
class AggregateUseIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private Stage stage;

    @BeforeEach
    void begin() {
        stage = new Stage(redis.server());
    }

    @AfterEach
    void end() {
        try (Jedis jedis = redis.client()) {
            jedis.configSet("maxmemory", "0");
        }
        stage.close();
    }

    @Test
    void peekMergesWhatAllInstancesAddedSoFar() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        assertThat(a.visits.peek("page")).isEmpty();
        b.visits.add("page", Visit.of(10));
        b.visits.publish();
        a.visits.add("page", Visit.of(1));
        assertThat(a.visits.peek("page")).contains(Visit.of(11));
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(a.visits.peek("page")).isEmpty();
        assertThat(stage.views("page")).isEqualTo(11);
    }

    @Test
    void closeLeavesEveryKeyThoughTheExecutorForCallbacksRejects() throws Exception {
        Actor a = stage.actor(
                "a",
                builder -> builder.callbacks(task -> {
                    throw new java.util.concurrent.RejectedExecutionException("shut down");
                }));
        var added = a.visits.add("page", Visit.of(1)).toCompletableFuture();
        a.visits.close();
        added.get(60, java.util.concurrent.TimeUnit.SECONDS);
        try (Jedis jedis = redis.client()) {
            for (int shard = 0; shard < Stage.SHARDS; shard++) {
                assertThat(jedis.hkeys("hf:{aggregate:visits:" + shard + "}:things"))
                        .as("leases of shard " + shard)
                        .noneMatch(field -> field.startsWith(","));
            }
        }
    }

    @Test
    void endIsRefusedWhileAnotherInstanceHoldsTheKey() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        b.visits.add("page", Visit.of(10));
        b.visits.publish();
        a.visits.add("page", Visit.of(1));
        assertThatThrownBy(() -> a.visits.end("page"))
                .hasMessageContaining("aggregate 'page' is held by b#")
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.RETRY));
        assertThatThrownBy(() -> a.visits.view().end("page", "operator")).hasMessageContaining("is held by b#");
        assertThat(a.visits.forceEnd("page")).isPositive();
        stage.pass(Duration.ofSeconds(3));
        assertThat(stage.views("page")).isEqualTo(11);
    }

    @Test
    void endByTheOnlyHolderEndsTheKeyWithWhatWasAdded() {
        Actor a = stage.actor("a");
        a.visits.add("page", Visit.of(1));
        a.visits.publish();
        a.visits.add("page", Visit.of(2));
        assertThat(a.visits.end("page")).isPositive();
        assertThat(a.visits.end("page")).isZero();
        stage.pass(Duration.ofSeconds(3));
        assertThat(stage.views("page")).isEqualTo(3);
    }

    @Test
    void viewTellsHowOftenAPartWasPublished() {
        Actor a = stage.actor("a");
        for (int i = 0; i < 3; i++) {
            a.visits.add("page", Visit.of(1));
            a.visits.publish();
        }
        assertThat(a.visits.view().show("page").getFirst().parts())
                .singleElement()
                .satisfies(part -> {
                    assertThat(part.published()).isEqualTo(3);
                    assertThat(part.publishedAt()).isNotNull();
                });
    }

    // A server whose memory is full.

    private void fill() {
        try (Jedis jedis = redis.client()) {
            jedis.configSet("maxmemory-policy", "noeviction");
            jedis.configSet("maxmemory", "1");
        }
    }

    @Test
    void fullServerDrainsWhenAnInstanceCloses() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.visits.add("page", Visit.of(1));
        a.visits.publish();
        a.visits.add("page", Visit.of(2));
        a.visits.add("other", Visit.of(4));
        fill();
        a.visits.close();
        a.die();
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.views("page")).isEqualTo(3);
        assertThat(stage.views("other")).isEqualTo(4);
        assertThat(b.visits.view().stats().waitingBytes()).isZero();
    }

    @Test
    void fullServerDrainsByWindowsAndByEnds() {
        Actor a = stage.actor("a");
        for (String key : new String[] {"ended", "forced", "all", "idle"}) {
            a.visits.add(key, Visit.of(1));
        }
        a.visits.publish();
        a.visits.add("ended", Visit.of(2));
        fill();
        assertThat(a.visits.end("ended")).isPositive();
        assertThat(a.visits.view().forceEnd("forced", "operator")).isPositive();
        stage.pass(Duration.ofSeconds(3));
        assertThat(stage.views("ended")).isEqualTo(3);
        assertThat(stage.views("forced")).isEqualTo(1);
        assertThat(a.visits.endAll()).isEqualTo(2);
        stage.pass(Duration.ofSeconds(3));
        assertThat(stage.rows()).hasSize(4);
        assertThat(a.visits.view().list(State.LIVE, 10)).isEmpty();
    }

    @Test
    void updateThatAFullServerRefusesWaitsAndCountsLater() {
        Actor a = stage.actor("a");
        fill();
        var waiting = a.visits.add("page", Visit.of(1)).toCompletableFuture();
        stage.pass(Duration.ofSeconds(3));
        assertThat(waiting).isNotDone();
        try (Jedis jedis = redis.client()) {
            jedis.configSet("maxmemory", "0");
        }
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(waiting).isCompleted();
        assertThat(stage.views("page")).isEqualTo(1);
    }
}
