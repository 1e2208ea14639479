package io.holdfast.redis.aggregate;

import static io.holdfast.redis.aggregate.Position.at;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException;
import io.holdfast.redis.aggregate.Stage.Actor;
import io.holdfast.redis.aggregate.Stage.Row;
import io.holdfast.redis.hold.HoldView.State;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** What aggregates promise, on a real server and a real database, with time in the hands of the test. */
class AggregatesIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final String KEY = "page";
    private static final Duration SECOND = Duration.ofSeconds(1);

    private Stage stage;

    @BeforeEach
    void begin() {
        stage = new Stage(redis.server());
    }

    @AfterEach
    void end() {
        stage.close();
    }

    // The failures of the original.

    @Test
    void lastOneOutWritesAllPartsNotOnlyItsOwn() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.visits.add(KEY, Visit.of(10));
        stage.pass(SECOND);
        b.visits.add(KEY, Visit.of(5));
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.rows()).singleElement().satisfies(row -> {
            assertThat(row.views()).isEqualTo(15);
            assertThat(row.updates()).isEqualTo(2);
            assertThat(row.parts()).isEqualTo(2);
        });
    }

    @Test
    void windowDoesNotEndAtOnce() {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(1));
        stage.pass(Stage.SOFT.minusSeconds(3));
        assertThat(stage.rows()).isEmpty();
        assertThat(a.visits.view().show(KEY))
                .singleElement()
                .satisfies(epoch -> assertThat(epoch.life().state()).isEqualTo(State.LIVE));
    }

    @Test
    void databaseThatIsDownLosesNothing() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.sinkIsDown = true;
        b.sinkIsDown = true;
        a.visits.add(KEY, Visit.of(10));
        b.visits.add(KEY, Visit.of(5));
        a.visits.publish();
        b.visits.publish();
        a.visits.forceEnd(KEY);
        stage.pass(Duration.ofMinutes(5));
        assertThat(stage.rows()).isEmpty();
        assertThat(a.visits.figures().waitingBytes()).isPositive();
        assertThat(a.visits.view().list(State.DEAD_LETTER, 10))
                .as("a sink that is down is no reason to give up")
                .isEmpty();
        a.sinkIsDown = false;
        b.sinkIsDown = false;
        stage.pass(Duration.ofMinutes(1));
        assertThat(stage.rows())
                .singleElement()
                .satisfies(row -> assertThat(row.views()).isEqualTo(15));
        assertThat(a.visits.figures().waitingBytes()).isZero();
    }

    @Test
    void closeWhileSharedGivesOneRow() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.visits.add(KEY, Visit.of(10));
        b.visits.add(KEY, Visit.of(5));
        b.visits.publish();
        long epoch = a.visits.forceEnd(KEY);
        assertThat(a.visits.forceEnd(KEY)).as("closed twice").isZero();
        stage.pass(Stage.SOFT.multipliedBy(2));
        assertThat(stage.rows()).singleElement().satisfies(row -> {
            assertThat(row.epoch()).isEqualTo(epoch);
            assertThat(row.views()).isEqualTo(15);
        });
    }

    @Test
    void joinDuringTheFinalWriteStartsTheNextEpoch() {
        Actor a = stage.actor("a");
        a.flushesLater = true;
        Actor b = stage.actor("b", builder -> builder.set(AggregateSettings.FLUSHERS, 1));
        b.flushesLater = true;
        a.visits.add(KEY, Visit.of(10));
        long first = a.visits.forceEnd(KEY);
        stage.pass(SECOND.multipliedBy(2)); // claimed by one of them, and its write is under way
        assertThat(a.tasks.size() + b.tasks.size()).isPositive();
        b.visits.add(KEY, Visit.of(5));
        b.visits.publish();
        assertThat(b.visits.view().show(KEY))
                .anySatisfy(epoch -> assertThat(epoch.life().state()).isEqualTo(State.LIVE))
                .anySatisfy(epoch -> assertThat(epoch.life().epoch()).isEqualTo(first));
        a.flushesLater = false;
        b.flushesLater = false;
        stage.pass(Stage.SOFT.plusSeconds(10));
        assertThat(stage.rows()).extracting(Row::views).containsExactly(10L, 5L);
        assertThat(stage.rows()).extracting(Row::epoch).startsWith(first).doesNotHaveDuplicates();
    }

    @Test
    void leavingTwiceFlushesOnce() {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(10));
        stage.pass(Stage.SOFT.plusSeconds(2)); // published, then left, then flushed
        Call leave = a.last("publish.lua");
        stage.link.call(leave);
        stage.link.call(leave);
        stage.link.call(a.last("flushed.lua"));
        stage.pass(Stage.SOFT.multipliedBy(2));
        assertThat(stage.rows()).hasSize(1);
        assertThat(a.flushed).hasSize(1);
        assertThat(a.visits.view().show(KEY)).isEmpty();
    }

    // Exactly once.

    @Test
    void evictedKeyIsJoinedAgainAndGoesOnFromItsOwnPart() {
        Actor a = stage.actor("a", builder -> builder.set(AggregateSettings.TABLE, 2));
        for (int round = 1; round <= 3; round++) {
            for (int i = 0; i < 8; i++) {
                addWhenThereIsRoom(a, "page" + i, Visit.of(round));
            }
        }
        assertThat(a.visits.figures().left()).as("keys left to make room").isGreaterThan(10);
        assertThat(a.visits.keys()).isLessThanOrEqualTo(2);
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.rows()).hasSize(8).allSatisfy(row -> {
            assertThat(row.views()).isEqualTo(1 + 2 + 3);
            assertThat(row.parts()).isEqualTo(1);
        });
    }

    @Test
    void evictedKeyStaysOpenForTheRestOfItsSoftWindow() {
        Actor a = stage.actor("a", builder -> builder.set(AggregateSettings.TABLE, 2));
        for (int i = 0; i < 8; i++) {
            addWhenThereIsRoom(a, "page" + i, Visit.of(1));
        }
        stage.pass(Stage.SOFT.minusSeconds(5));
        assertThat(stage.rows()).isEmpty();
        stage.pass(SECOND.multipliedBy(8));
        assertThat(stage.rows()).hasSize(8);
    }

    private void addWhenThereIsRoom(Actor actor, String key, Visit visit) {
        while (true) {
            try {
                actor.visits.add(key, visit);
                return;
            } catch (HoldfastException e) {
                assertThat(e.isRetryable()).isTrue();
                stage.pass(Duration.ofMillis(100));
            }
        }
    }

    @Test
    void publishRefusedByAFreezeGoesIntoTheNextEpoch() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.visits.add(KEY, Visit.of(10));
        b.visits.add(KEY, Visit.of(5));
        b.visits.publish();
        b.visits.add(KEY, Visit.of(7)); // not published when the epoch ends
        long first = a.visits.forceEnd(KEY);
        stage.pass(SECOND.multipliedBy(4));
        assertThat(b.visits.figures().carried()).isEqualTo(1);
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.rows()).extracting(Row::views).containsExactly(15L, 7L);
        assertThat(stage.rows().getFirst().epoch()).isEqualTo(first);
    }

    @Test
    void publishWithoutAnAnswerThatHadCountedCountsOnce() {
        Actor a = stage.actor("a");
        a.losesReply = call -> call.script().name().equals("publish.lua");
        var stageOfAdd = a.visits.add(KEY, Visit.of(10)).toCompletableFuture();
        stage.pass(SECOND.multipliedBy(2));
        assertThat(stageOfAdd).isNotDone();
        a.visits.add(KEY, Visit.of(1));
        a.losesReply = call -> false;
        stage.pass(SECOND.multipliedBy(3));
        assertThat(stageOfAdd).isCompleted();
        assertThat(a.visits.figures().unanswered()).isPositive();
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.rows())
                .singleElement()
                .satisfies(row -> assertThat(row.views()).isEqualTo(11));
    }

    @Test
    void publishThatTimedOutAndLandsAfterTheNextOneCountsOnce() {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(1));
        a.visits.publish();
        a.losesRequest = call -> call.script().name().equals("publish.lua");
        a.visits.add(KEY, Visit.of(10));
        stage.pass(SECOND);
        Call late = a.last("publish.lua");
        a.losesRequest = call -> false;
        a.visits.add(KEY, Visit.of(100));
        a.visits.publish();
        stage.link.call(late);
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.rows())
                .singleElement()
                .satisfies(row -> assertThat(row.views()).isEqualTo(111));
    }

    @Test
    void publishThatLandsLateBeforeTheNextOneCountsOnce() {
        Actor a = stage.actor("a");
        a.losesRequest = call -> call.script().name().equals("publish.lua");
        a.visits.add(KEY, Visit.of(10));
        stage.pass(SECOND);
        Call late = a.last("publish.lua");
        a.losesRequest = call -> false;
        a.visits.add(KEY, Visit.of(100));
        stage.link.call(late);
        a.visits.publish();
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.rows())
                .singleElement()
                .satisfies(row -> assertThat(row.views()).isEqualTo(110));
    }

    @Test
    void publishThatLandsInTheNextEpochIsRecognisedByItsInstance() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.visits.add(KEY, Visit.of(1));
        a.visits.publish();
        b.visits.add(KEY, Visit.of(2)); // its first one: it may land in whatever epoch is open
        b.losesRequest = call -> call.script().name().equals("publish.lua");
        stage.pass(SECOND);
        Call late = b.last("publish.lua");
        a.visits.forceEnd(KEY);
        stage.link.call(late); // opens the next epoch
        b.losesRequest = call -> false;
        b.visits.add(KEY, Visit.of(4));
        stage.pass(Stage.SOFT.plusSeconds(8));
        assertThat(stage.rows()).extracting(Row::views).containsExactly(1L, 6L);
    }

    @Test
    void crashBetweenPublishAndAcknowledgementIsRedeliveredAndCountsOnce() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        for (int i = 0; i < 5; i++) {
            a.visits.add(KEY, Visit.of(1), at("t", 0, i));
        }
        a.visits.publish();
        a.visits.add(KEY, Visit.of(1), at("t", 0, 5)); // not published
        a.die();
        for (int i = 0; i < 8; i++) {
            b.visits.add(KEY, Visit.of(1), at("t", 0, i));
        }
        b.visits.publish();
        assertThat(b.visits.figures().duplicates()).isEqualTo(5);
        assertThat(b.visits.durable("t", 0)).hasValue(7);
        stage.pass(Stage.LEASE.plus(Stage.SOFT).plusSeconds(10));
        assertThat(stage.rows()).singleElement().satisfies(row -> {
            assertThat(row.views()).isEqualTo(8);
            assertThat(row.parts()).isEqualTo(2);
        });
    }

    @Test
    void redeliveryAfterTheEpochWasFlushedCountsOnce() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.visits.add(KEY, Visit.of(1), at("p", 7));
        a.visits.add("other", Visit.of(1), Position.id("q", "m-1"));
        a.visits.publish();
        a.visits.endAll();
        stage.pass(SECOND.multipliedBy(3));
        assertThat(stage.rows()).hasSize(2);
        b.visits.add(KEY, Visit.of(1), at("p", 7));
        b.visits.add("other", Visit.of(1), Position.id("q", "m-1"));
        b.visits.publish();
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.rows()).hasSize(2);
        assertThat(b.visits.figures().duplicates()).isEqualTo(2);
        assertThat(b.visits.durable("p")).hasValue(7);
    }

    @Test
    void positionsAreForgottenAfterTheRedeliveryWindow() {
        Actor a = stage.actor("a", builder -> builder.set(AggregateSettings.REDELIVERY_WINDOW, Duration.ofSeconds(90)));
        a.visits.add(KEY, Visit.of(1), at("p", 7));
        a.visits.add("other", Visit.of(1), Position.id("q", "m-1"));
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stored("parts") + stored("ids") + stored("look")).isEqualTo(6);
        stage.pass(Duration.ofSeconds(200));
        assertThat(stored("parts") + stored("ids") + stored("look") + stored("ends"))
                .isZero();
        assertThat(stage.rows()).hasSize(2);
    }

    private long stored(String part) {
        long sum = 0;
        try (Jedis jedis = redis.client()) {
            for (int shard = 0; shard < Stage.SHARDS; shard++) {
                String key = "hf:{aggregate:visits:" + shard + "}:" + part;
                sum += switch (part) {
                    case "parts" -> jedis.hlen(key);
                    case "ids", "look" -> jedis.llen(key);
                    default -> jedis.zcard(key);
                };
            }
        }
        return sum;
    }

    @Test
    void bothOfTwoConsumersOfOnePartitionCountOnce() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        for (int i = 0; i < 4; i++) {
            a.visits.add(KEY, Visit.of(1), at("t", 0, i)); // the partition is taken from it before it publishes
        }
        for (int i = 0; i < 6; i++) {
            b.visits.add(KEY, Visit.of(1), at("t", 0, i));
        }
        b.visits.publish();
        a.visits.publish();
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.views(KEY)).isEqualTo(6);
        assertThat(a.visits.figures().duplicates()).isEqualTo(4);
    }

    @Test
    void rewoundSourceIsRecognisedWhileItIsStillOnItsWay() {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(1), at("t", 0, 1));
        a.visits.add(KEY, Visit.of(1), at("t", 0, 2));
        a.visits.rewind("t", 0);
        var again = a.visits.add(KEY, Visit.of(1), at("t", 0, 1)).toCompletableFuture();
        assertThat(a.visits.durable("t", 0)).isEmpty();
        a.visits.publish();
        assertThat(again).isCompleted();
        assertThat(a.visits.durable("t", 0)).hasValue(1);
        a.visits.add(KEY, Visit.of(1), at("t", 0, 2));
        a.visits.add(KEY, Visit.of(1), at("t", 0, 3));
        a.visits.publish();
        assertThat(a.visits.durable("t", 0)).hasValue(3);
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.views(KEY)).isEqualTo(3);
    }

    @Test
    void durableWaitsForTheSlowestKeyOfASource() {
        Actor a = stage.actor("a");
        a.visits.add("one", Visit.of(1), at("p", 1));
        a.visits.publish();
        a.losesRequest = call -> call.script().name().equals("publish.lua")
                && new String(call.keys().getFirst(), UTF_8).contains(":" + shardOf(a, "two") + "}");
        a.visits.add("two", Visit.of(1), at("p", 2));
        String elsewhere = "one";
        for (int i = 0; shardOf(a, elsewhere) == shardOf(a, "two"); i++) {
            elsewhere = "k" + i;
        }
        a.visits.add(elsewhere, Visit.of(1), at("p", 3));
        stage.pass(SECOND.multipliedBy(2));
        assertThat(a.visits.durable("p")).hasValue(1);
        a.losesRequest = call -> false;
        stage.pass(SECOND.multipliedBy(2));
        assertThat(a.visits.durable("p")).hasValue(3);
    }

    private static int shardOf(Actor actor, String key) {
        return actor.visits.view().set().shardOf(key);
    }
}
