package io.holdfast.redis.aggregate;

import static io.holdfast.redis.aggregate.Position.at;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.aggregate.Stage.Actor;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What is wrong is refused with a line that says what to do, and harms nothing else. */
class AggregateInputIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private Stage stage;

    @BeforeEach
    void begin() {
        stage = new Stage(redis.server());
    }

    @AfterEach
    void end() {
        stage.close();
    }

    @Test
    void mergeThatThrowsRefusesTheUpdateAndKeepsTheOthers() {
        Actor[] self = new Actor[1];
        self[0] = stage.actor("a");
        DeniedMerge merges = new DeniedMerge();
        try (var picky = new AggregatesBuilder<>(self[0].client, Stage.SET, Visit.class, merges::merge)
                .set(AggregateSettings.SHARDS, Stage.SHARDS)
                .set(AggregateSettings.LEASE, Stage.LEASE)
                .start()) {
            picky.add("page", Visit.of(1));
            merges.denied = true;
            assertThatThrownBy(() -> picky.add("page", Visit.of(2))).hasMessageContaining("not that");
            merges.denied = false;
            picky.add("page", Visit.of(4));
            picky.publish();
        }
        stage.pass(Duration.ofMinutes(16));
        assertThat(stage.views("page")).isEqualTo(5);
    }

    private static final class DeniedMerge {
        boolean denied;

        Visit merge(Visit one, Visit other) {
            if (denied) {
                throw new IllegalArgumentException("not that");
            }
            return one.merge(other);
        }
    }

    @Test
    void mergeThatAnswersNullIsRefused() {
        Actor a = stage.actor("a");
        var nothing = new AggregatesBuilder<>(a.client, "nothing", Visit.class, (one, other) -> null).start();
        nothing.add("page", Visit.of(1));
        assertThatThrownBy(() -> nothing.add("page", Visit.of(1))).hasMessageContaining("answered null");
    }

    @Test
    @SuppressWarnings("NullAway") // what a caller without the checks may do
    void nullUpdateIsRefused() {
        Actor a = stage.actor("a");
        assertThatThrownBy(() -> a.visits.add("page", null)).hasMessageContaining("a null update for key 'page'");
        assertThatThrownBy(() -> a.visits.add(null, Visit.of(1))).isInstanceOf(NullPointerException.class);
    }

    @Test
    void keyThatCannotBeRightIsRefused() {
        Actor a = stage.actor("a");
        assertThatThrownBy(() -> a.visits.add("", Visit.of(1))).hasMessageContaining("an empty id");
        assertThatThrownBy(() -> a.visits.add("k".repeat(513), Visit.of(1))).hasMessageContaining("513 bytes");
    }

    @Test
    void oversizedValueFailsItsStageAndNothingElse() {
        Actor a = stage.actor("a");
        var texts = new AggregatesBuilder<>(a.client, "texts", String.class, String::concat)
                .set(AggregateSettings.PART_LIMIT, 100L)
                .callbacks(Runnable::run)
                .start();
        var large = texts.add("page", "x".repeat(200)).toCompletableFuture();
        var small = texts.add("other", "y").toCompletableFuture();
        texts.publish();
        assertThat(small).isCompleted();
        assertThat(large).isCompletedExceptionally();
        assertThatThrownBy(large::join)
                .cause()
                .hasMessageContaining("the part of key 'page' would take 206 bytes, and 100 are allowed");
        assertThat(texts.figures().refused()).isEqualTo(1);
        var again = texts.add("page", "z").toCompletableFuture();
        texts.publish();
        assertThat(again).isCompleted();
    }

    @Test
    void codecThatFailsRefusesTheUpdates() {
        Actor a = stage.actor("a");
        var broken = new AggregatesBuilder<>(a.client, "broken", String.class, String::concat)
                .callbacks(Runnable::run)
                .codec(new Codec<>() {
                    @Override
                    public byte[] encode(String value) {
                        throw new IllegalStateException("cannot encode");
                    }

                    @Override
                    public String decode(byte[] bytes) {
                        throw new IllegalStateException("cannot decode");
                    }
                })
                .start();
        var added = broken.add("page", "x").toCompletableFuture();
        broken.publish();
        assertThatThrownBy(added::join).cause().hasMessageContaining("cannot encode");
    }

    @Test
    void updateForClosedAggregatesIsRefused() {
        Actor a = stage.actor("a");
        a.visits.close();
        assertThatThrownBy(() -> a.visits.add("page", Visit.of(1))).hasMessageContaining("are closed");
    }

    @Test
    void closeWithoutRedisFailsWhatWaitsWithRetry() {
        Actor a = stage.actor("a");
        var waiting = a.visits.add("page", Visit.of(1)).toCompletableFuture();
        a.losesRequest = call -> {
            stage.time.advance(Duration.ofSeconds(1));
            return true;
        };
        a.visits.close();
        assertThat(waiting).isCompletedExceptionally();
        assertThatThrownBy(waiting::join)
                .cause()
                .isInstanceOfSatisfying(
                        HoldfastException.class,
                        e -> assertThat(e.isRetryable()).isTrue());
    }

    @Test
    void positionThatGoesBackIsRefusedUnlessTheSourceWasRewound() {
        Actor a = stage.actor("a");
        a.visits.add("page", Visit.of(1), at("p", 5));
        assertThatThrownBy(() -> a.visits.add("other", Visit.of(1), at("p", 3)))
                .hasMessageContaining("position 3 of source 'p' after 5")
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.action()).contains("rewind(source)"));
        a.visits.rewind("p");
        a.visits.add("other", Visit.of(1), at("p", 3));
    }

    @Test
    void twoUpdatesOfOneKeyAtOnePositionAreRefused() {
        Actor a = stage.actor("a");
        a.visits.add("page", Visit.of(1), at("p", 5));
        a.visits.add("other", Visit.of(1), at("p", 5));
        assertThatThrownBy(() -> a.visits.add("page", Visit.of(1), at("p", 5)))
                .hasMessageContaining("a second update of key 'page' at position 5");
    }

    @Test
    void positionsAndSourcesThatCannotBeRightAreRefused() {
        assertThatThrownBy(() -> at("p", -1)).hasMessageContaining("position -1");
        assertThatThrownBy(() -> at("a b", 1)).hasMessageContaining("the source 'a b'");
        assertThatThrownBy(() -> Position.id("q", "")).hasMessageContaining("an id of 0 characters");
    }

    @Test
    void hardWindowShorterThanTheSoftOneIsRefused() {
        Actor a = stage.actor("a");
        assertThatThrownBy(() -> new AggregatesBuilder<>(a.client, "windows", Visit.class, Visit::merge)
                        .softWindow(Duration.ofMinutes(10))
                        .hardWindow(Duration.ofMinutes(5))
                        .start())
                .hasMessageContaining("aggregates.hard-window = '5m' is shorter than aggregates.soft-window = '10m'");
    }

    @Test
    void otherShardsThanTheSetHasAreRefused() {
        Actor a = stage.actor("a");
        assertThatThrownBy(() -> new AggregatesBuilder<>(a.client, Stage.SET, Visit.class, Visit::merge)
                        .set(AggregateSettings.SHARDS, 16)
                        .start())
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.MISUSE));
    }

    @Test
    void withoutRedisAddsFailWithRetryWhenTheTableIsFull() {
        Actor a = stage.actor("a", builder -> builder.set(AggregateSettings.PENDING, 10));
        a.losesRequest = call -> true;
        assertThatThrownBy(() -> {
                    for (int i = 0; i < 100; i++) {
                        a.visits.add("page", Visit.of(1));
                    }
                })
                .isInstanceOfSatisfying(
                        HoldfastException.class,
                        e -> assertThat(e.isRetryable()).isTrue());
        a.losesRequest = call -> false;
        a.visits.publish();
        assertThat(a.visits.pending()).isZero();
        a.visits.add("page", Visit.of(1));
    }

    @Test
    void instancesWithoutASinkLeaveFlushingToOthers() {
        Actor a = stage.actor("a");
        var mute = new AggregatesBuilder<>(a.client, "mute", Visit.class, Visit::merge).start();
        mute.add("page", Visit.of(1));
        mute.publish();
        mute.forceEnd("page");
        for (int i = 0; i < 5; i++) {
            a.duties.runDue();
            stage.time.advance(Duration.ofSeconds(1));
        }
        assertThat(mute.view().show("page")).hasSize(1);
        assertThat(Arrays.asList(mute.figures().flushed(), mute.figures().failed()))
                .containsOnly(0L);
    }
}
