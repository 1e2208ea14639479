package io.holdfast.redis.aggregate;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.aggregate.Stage.Actor;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.hold.HoldView.State;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.testkit.LogLines;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** One key, one shard or the executor fails: what is well reaches the sink. */
class AggregateFaultsIT {

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
    void sinkThatIsDownTakesNoAttemptInTheShardsThatAreReached() {
        Actor a = stage.actor("a");
        String ill = keys(a, 0, 1).getFirst();
        String well = keys(a, 1, 1).getFirst();
        a.sinkIsDown = true;
        end(a, List.of(ill, well));
        a.losesRequest = in(0).and(script("settle.lua"));
        stage.pass(Duration.ofMinutes(5));
        assertThat(deadLetters(a)).doesNotContain(well);
    }

    @Test
    void keyThatTheSinkRefusesInAShardThatIsNotReachedKeepsNoOtherFromTheSink() {
        Actor a = stage.actor("a");
        String ill = keys(a, 0, 1).getFirst();
        String well = keys(a, 1, 1).getFirst();
        a.refused = ill;
        a.losesRequest = in(0).and(script("settle.lua"));
        end(a, List.of(ill, well));
        stage.pass(Duration.ofSeconds(3));
        assertThat(stage.views(well)).isEqualTo(1);
    }

    @Test
    void partThatCannotBeReadAndCannotBeBuriedKeepsNoOtherFromTheSink() {
        Actor a = stage.actor("a");
        String ill = keys(a, 0, 1).getFirst();
        String well = keys(a, 1, 1).getFirst();
        a.losesRequest = script("settle.lua");
        end(a, List.of(ill, well));
        try (Jedis jedis = redis.client()) {
            String parts = "hf:{aggregate:visits:0}:parts";
            jedis.hset(parts, jedis.hkeys(parts).iterator().next(), "nonsense");
        }
        stage.pass(Duration.ofSeconds(3));
        assertThat(stage.views(well)).isEqualTo(1);
    }

    @Test
    void closingAllEndsWhatIsReachedBeforeItFailsForAShardThatIsNot() {
        Actor a = stage.actor("a");
        String ill = keys(a, 0, 1).getFirst();
        String well = keys(a, 1, 1).getFirst();
        List.of(ill, well).forEach(key -> a.visits.add(key, Visit.of(1)));
        a.visits.publish();
        a.losesRequest = in(0).and(script("freeze-all.lua"));
        assertThat(catchThrowableOfType(HoldfastException.class, () -> a.visits.endAll()))
                .extracting(HoldfastException::category)
                .isEqualTo(Category.RETRY);
        stage.pass(Duration.ofMillis(500)); // less than the soft window
        assertThat(stage.views(well)).isEqualTo(1);
    }

    @Test
    void keyThatTheSinkPutsOffForEverKeepsNoOtherFromTheSink() {
        Actor a = stage.actor("a");
        List<String> keys = keys(a, 0, 20);
        a.putOff = keys.get(7);
        end(a, keys);
        stage.pass(Duration.ofMinutes(2));
        assertThat(stage.rows()).hasSize(19);
        assertThat(deadLetters(a)).isEmpty();
        a.putOff = "";
        stage.pass(Duration.ofMinutes(2));
        assertThat(stage.rows()).hasSize(20);
    }

    @Test
    void executorThatRefusesTakesNoAttempt() {
        boolean[] refuses = {true};
        Actor a = stage.actor(
                "a",
                builder -> builder.executor(task -> {
                    if (refuses[0]) {
                        throw new RejectedExecutionException("full");
                    }
                    task.run();
                }));
        end(a, keys(a, 0, 3));
        stage.pass(Duration.ofMinutes(5));
        assertThat(deadLetters(a)).isEmpty();
        refuses[0] = false;
        stage.pass(Duration.ofMinutes(1));
        assertThat(stage.rows()).hasSize(3);
    }

    @Test
    void claimsAreRenewedWhereTheStoreAnswersWhileAnotherShardHangs() {
        Actor a = stage.actor("a");
        String well = keys(a, 1, 1).getFirst();
        a.flushesLater = true;
        end(a, keys(a, 0, 20));
        end(a, List.of(well));
        stage.pass(Duration.ofSeconds(2));
        assertThat(a.tasks).isNotEmpty();
        Actor b = stage.actor("b");
        a.losesRequest = in(0).and(script("settle.lua")).and(call -> {
            stage.passWithout(a);
            stage.passWithout(a);
            return true;
        });
        stage.pass(Duration.ofSeconds(30));
        assertThat(b.flushed).noneMatch(flush -> flush.key().equals(well));
    }

    @Test
    void instanceThatOnlyTendsForgetsNoPositionBeforeTheApplicationWould() {
        Actor a = stage.actor("a", builder -> builder.set(AggregateSettings.REDELIVERY_WINDOW, Duration.ofMinutes(10)));
        stage.actor(
                "daemon",
                builder -> builder.set(AggregateSettings.REDELIVERY_WINDOW, Duration.ofMinutes(1))
                        .tending());
        a.visits.add("k", Visit.of(1), Position.at("bus", 7));
        a.visits.forceEnd("k");
        stage.pass(Duration.ofSeconds(3));
        a.die();
        stage.pass(Duration.ofMinutes(4));
        Actor again = stage.actor(
                "again", builder -> builder.set(AggregateSettings.REDELIVERY_WINDOW, Duration.ofMinutes(10)));
        again.visits.add("k", Visit.of(1), Position.at("bus", 7));
        stage.pass(Duration.ofMinutes(2));
        assertThat(stage.views("k")).isEqualTo(1);
    }

    /** H14, first half: a server whose clock jumps forward still recognises what it counted within the redelivery window. */
    @Test
    void clockThatGoesForwardForgetsNoMessage() {
        Duration window = Duration.ofMinutes(10);
        Actor a = stage.actor("a", builder -> builder.set(AggregateSettings.REDELIVERY_WINDOW, window));
        a.visits.add("k", Visit.of(1), Position.id("queue", "m1"));
        a.visits.add("k", Visit.of(1), Position.at("bus", 7));
        a.visits.forceEnd("k");
        stage.pass(Duration.ofSeconds(3));
        assertThat(stage.views("k")).isEqualTo(2);
        stage.jump(window.plusMinutes(5));
        stage.pass(Stage.LEASE.multipliedBy(3)); // past quiet time
        Actor b = stage.actor("b", builder -> builder.set(AggregateSettings.REDELIVERY_WINDOW, window));
        b.visits.add("k", Visit.of(1), Position.id("queue", "m1"));
        b.visits.add("k", Visit.of(1), Position.at("bus", 7));
        b.visits.publish();
        stage.pass(Duration.ofMinutes(2));
        assertThat(stage.views("k")).as("each message counts once").isEqualTo(2);
    }

    /** H15: only what is a dead letter is logged as one. */
    @Test
    void resultThatComesTooLateIsNotLoggedAsADeadLetter() {
        Actor a = stage.actor("a");
        a.refused = "k";
        a.flushesLater = true;
        end(a, List.of("k"));
        stage.pass(Duration.ofSeconds(2));
        assertThat(a.tasks).isNotEmpty();
        a.losesRequest = call -> true; // its claim runs out, and another instance writes the row
        Actor b = stage.actor("b");
        stage.pass(Stage.CLAIM.plusSeconds(5));
        assertThat(b.flushed).hasSize(1);
        a.losesRequest = call -> false;
        try (LogLines log = LogLines.of("io.holdfast.redis.claim")) {
            a.runTasks();
            a.flushesLater = false;
            stage.pass(Duration.ofSeconds(30));
            assertThat(log.all()).noneMatch(line -> line.contains("is a dead letter"));
        }
        assertThat(deadLetters(a)).isEmpty();
        a.visits.add("other", Visit.of(1));
        a.refused = "other";
        a.visits.forceEnd("other");
        try (LogLines log = LogLines.of("io.holdfast.redis.claim")) {
            b.stalled = true;
            stage.pass(Duration.ofMinutes(10));
            assertThat(log.all())
                    .filteredOn(line -> line.contains("'other' of 'visits'") && line.contains("is a dead letter"))
                    .hasSize(1);
        }
    }

    /** H26: values that the sink refused for good take room until somebody discards them. */
    @Test
    void deadLettersThatAreDiscardedMakeRoom() {
        Actor a = stage.actor(
                "a",
                builder -> builder.set(AggregateSettings.WAITING_LIMIT, 1_024L)
                        .set(AggregateSettings.ATTEMPTS, 1)
                        .set(AggregateSettings.PENDING, 5));
        List<String> keys = keys(a, 0, 8);
        for (String key : keys) {
            a.refused = key;
            end(a, List.of(key));
            stage.pass(Duration.ofSeconds(3));
        }
        assertThat(deadLetters(a)).containsExactlyInAnyOrderElementsOf(keys);
        long full = a.visits.figures().waitingBytes();
        assertThat(full).isPositive();
        for (HoldView.Life letter : a.visits.view().list(State.DEAD_LETTER, 100)) {
            a.visits.view().discard(letter.id(), letter.epoch(), "ann#00000000000000aa");
        }
        stage.pass(Duration.ofSeconds(3));
        assertThat(deadLetters(a)).isEmpty();
        assertThat(a.visits.figures().waitingBytes()).isZero();
    }

    private static void end(Actor actor, List<String> keys) {
        for (String key : keys) {
            actor.visits.add(key, Visit.of(1));
            actor.visits.forceEnd(key);
        }
    }

    private static List<String> deadLetters(Actor actor) {
        return actor.visits.view().list(State.DEAD_LETTER, 100).stream()
                .map(HoldView.Life::id)
                .toList();
    }

    private static Predicate<Call> in(int shard) {
        return call -> new String(call.keys().getFirst(), UTF_8).contains("visits:" + shard + "}");
    }

    private static Predicate<Call> script(String name) {
        return call -> call.script().name().equals(name);
    }

    private static List<String> keys(Actor actor, int shard, int count) {
        return IntStream.iterate(0, i -> i + 1)
                .mapToObj(i -> "k" + i)
                .filter(key -> actor.visits.view().set().shardOf(key) == shard)
                .limit(count)
                .toList();
    }
}
