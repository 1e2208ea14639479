package io.holdfast.redis.aggregate;

import static io.holdfast.redis.aggregate.Position.at;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.Stage.Actor;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An update that cannot be published is told so, leaves no trace, and counts when it is delivered again and fits. */
class AggregateRefusalsIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final String LARGE = "y".repeat(60);

    private Stage stage;

    @BeforeEach
    void begin() {
        stage = new Stage(redis.server());
    }

    @AfterEach
    void end() {
        stage.close();
    }

    /** Texts of up to 100 bytes a part. */
    private static Aggregates<String> texts(Actor actor) {
        return new AggregatesBuilder<>(actor.client, "texts", String.class, String::concat)
                .set(AggregateSettings.PART_LIMIT, 100L)
                .set(AggregateSettings.SHARDS, Stage.SHARDS)
                .set(AggregateSettings.PENDING, 4_000)
                .set(AggregateSettings.ADD_WAIT, Duration.ZERO)
                .callbacks(Runnable::run)
                .start();
    }

    private static long updates(Aggregates<?> aggregates, String key) {
        return aggregates.view().show(key).stream()
                .mapToLong(AggregateView.Epoch::updates)
                .sum();
    }

    @Test
    void refusedUpdateWithAnIdCountsWhenItIsDeliveredAgain() {
        Aggregates<String> texts = texts(stage.actor("a"));
        texts.add("page", LARGE, Position.id("q", "m1"));
        texts.publish();
        var refused = texts.add("page", LARGE, Position.id("q", "m2")).toCompletableFuture();
        texts.publish();
        assertThat(refused).isCompletedExceptionally();
        texts.forceEnd("page");
        texts.add("page", LARGE, Position.id("q", "m2"));
        texts.publish();
        assertThat(updates(texts, "page")).as("in both epochs").isEqualTo(2);
    }

    /** What finds no room at the server stays as it is until there is room, though a later update can never be added to it. */
    @Test
    void partThatFoundNoRoomIsWholeWhenItCountsLater() {
        Actor a = stage.actor("a");
        boolean[] down = {true};
        List<String> rows = new ArrayList<>();
        Aggregates<String> texts = new AggregatesBuilder<>(a.client, "texts", String.class, String::concat)
                .set(AggregateSettings.PART_LIMIT, 120L)
                .set(AggregateSettings.WAITING_LIMIT, 1_024L)
                .set(AggregateSettings.SHARDS, 1)
                .set(AggregateSettings.ADD_WAIT, Duration.ZERO)
                .set(AggregateSettings.RETRY_PAUSE, Duration.ofSeconds(1))
                .sink(batch -> {
                    if (down[0]) {
                        throw new HoldfastException(Category.RETRY, "the sink is down");
                    }
                    batch.forEach(flush -> rows.add(flush.key() + "=" + flush.value()));
                })
                .executor(Runnable::run)
                .callbacks(Runnable::run)
                .start();
        texts.add("page", "a");
        stage.pass(Duration.ofSeconds(2));
        int others = 0;
        for (; texts.figures().full() == 0 && others < 100; others++) {
            texts.add("other" + others, "x".repeat(40));
            stage.pass(Duration.ofSeconds(2));
        }
        String found = "b".repeat(80);
        texts.add("page", found);
        stage.pass(Duration.ofSeconds(3));
        var never = texts.add("page", "c".repeat(80)).toCompletableFuture();
        stage.pass(Duration.ofSeconds(3));
        down[0] = false;
        for (int i = 0; i < others - 1; i++) {
            texts.forceEnd("other" + i);
        }
        stage.pass(Duration.ofSeconds(60));
        assertThat(never).isCompletedExceptionally();
        texts.forceEnd("page");
        stage.pass(Duration.ofSeconds(10));
        assertThat(rows).contains("page=a" + found);
    }

    @Test
    void updateThatWasDeliveredTwiceIsRefusedTwice() {
        Aggregates<String> texts = texts(stage.actor("a"));
        texts.add("page", LARGE, Position.id("q", "m1"));
        texts.publish();
        var first = texts.add("page", LARGE, Position.id("q", "m2")).toCompletableFuture();
        var again = texts.add("page", LARGE, Position.id("q", "m2")).toCompletableFuture();
        texts.add("page", LARGE, at("p", 2));
        texts.rewind("p");
        var ordered = texts.add("page", LARGE, at("p", 2)).toCompletableFuture();
        texts.publish();
        assertThat(first).isCompletedExceptionally();
        assertThat(again).as("the same message, which does not count").isCompletedExceptionally();
        assertThat(ordered).isCompletedExceptionally();
        assertThat(texts.durable("p")).isEmpty();
    }

    @Test
    void refusedUpdateOfAnOrderedSourceCountsWhenItIsDeliveredAgain() {
        Aggregates<String> texts = texts(stage.actor("a"));
        texts.add("page", LARGE, at("p", 1));
        texts.publish();
        var refused = texts.add("page", LARGE, at("p", 2)).toCompletableFuture();
        texts.publish();
        assertThat(refused).isCompletedExceptionally();
        texts.forceEnd("page");
        texts.rewind("p");
        texts.add("page", LARGE, at("p", 2));
        texts.publish();
        assertThat(updates(texts, "page")).as("in both epochs").isEqualTo(2);
    }

    @Test
    void refusedUpdateCountsElsewhereThoughLaterOnesOfItsKeyHaveCounted() {
        Aggregates<String> here = texts(stage.actor("a"));
        Aggregates<String> there = texts(stage.actor("b"));
        here.add("page", LARGE, at("p", 1));
        here.publish();
        here.add("page", LARGE, at("p", 2));
        here.add("page", "z", at("p", 3));
        here.publish();
        assertThat(here.figures().refused())
                .as("only the one that does not fit")
                .isEqualTo(1);
        assertThat(here.durable("p")).hasValue(1);
        here.forceEnd("page");
        for (int position = 2; position <= 3; position++) {
            there.add("page", position == 2 ? LARGE : "z", at("p", position));
        }
        there.publish();
        assertThat(updates(there, "page")).as("each once, in two epochs").isEqualTo(3);
        assertThat(there.durable("p")).hasValue(3);
        there.rewind("p");
        there.add("page", LARGE, at("p", 2));
        there.publish();
        assertThat(updates(there, "page")).as("and not again").isEqualTo(3);
    }

    /** A list of refused positions is never cut short: a position that is not in it would be taken for counted. */
    @Test
    void refusedPositionIsRememberedBehindHundredsOfOthers() {
        Aggregates<String> here = texts(stage.actor("a"));
        Aggregates<String> there = texts(stage.actor("b"));
        long first = 10_000_000_000L;
        here.add("page", LARGE, at("p", first - 1));
        here.publish();
        for (int i = 0; i < 900; i++) {
            here.add("page", LARGE, at("p", first + i));
        }
        here.add("page", "z", at("p", first + 900));
        here.publish();
        assertThat(here.figures().refused()).isEqualTo(900);
        here.forceEnd("page");
        there.add("page", LARGE, at("p", first));
        there.publish();
        assertThat(updates(there, "page")).as("with the first refused update").isEqualTo(3);
    }

    @Test
    void publishIsPutOffWhenTooManyRefusedPositionsAreRemembered() {
        long first = 10_000_000_000L;
        for (int round = 0; round < 2; round++) {
            Aggregates<String> texts = texts(stage.actor("a" + round));
            texts.add("page", LARGE, at("p", first - 1 + 1_000L * round));
            texts.publish();
            for (int i = 0; i < 900; i++) {
                texts.add("page", LARGE, at("p", first + 1_000L * round + i));
            }
            texts.add("page", "z", at("p", first + 900 + 1_000L * round));
            if (round == 0) {
                texts.publish();
                texts.forceEnd("page");
            } else {
                stage.pass(Duration.ofSeconds(3));
                assertThat(texts.durable("p")).hasValue(first + 999);
                assertThatThrownBy(() -> fillUp(texts)).hasMessageContaining("refused positions");
            }
        }
    }

    private static void fillUp(Aggregates<String> texts) {
        for (int i = 0; i < 1_000_000; i++) {
            texts.add("page", "z");
        }
    }

    // A source that is delivered again after updates of it were refused.

    @Test
    void messageIsRecognisedThoughAnEarlierOneOfItsKeyWasRefusedAndCountsNow() {
        Aggregates<String> texts = texts(stage.actor("a"));
        texts.add("page", "a".repeat(40), at("p", 1));
        texts.publish();
        texts.add("page", LARGE, at("p", 2));
        texts.add("page", "b", at("p", 3));
        texts.publish();
        texts.rewind("p");
        texts.add("page", "c", at("p", 2));
        texts.add("page", "b", at("p", 3));
        texts.publish();
        assertThat(updates(texts, "page")).as("each once").isEqualTo(3);
        assertThat(texts.durable("p")).hasValue(3);
    }

    @Test
    void everyRefusedUpdateCountsWhenItsSourceIsDeliveredAgain() {
        Aggregates<String> texts = texts(stage.actor("a"));
        texts.add("page", "a".repeat(40), at("p", 1));
        texts.publish();
        texts.add("page", LARGE, at("p", 2));
        texts.add("page", "b", at("p", 3));
        texts.add("page", LARGE, at("p", 4));
        texts.add("page", "d", at("p", 5));
        texts.publish();
        assertThat(texts.figures().refused()).isEqualTo(2);
        texts.rewind("p");
        for (int position = 2; position <= 5; position++) {
            texts.add("page", "x", at("p", position));
        }
        texts.publish();
        assertThat(updates(texts, "page")).as("each once").isEqualTo(5);
    }

    @Test
    void updateThatIsRefusedAfterItsSourceWasRewoundCountsWhenItIsDeliveredAgain() {
        Aggregates<String> texts = texts(stage.actor("a"));
        texts.add("page", "a".repeat(40), at("p", 1));
        texts.publish();
        texts.add("page", LARGE, at("p", 2));
        texts.add("page", LARGE, at("p", 3));
        texts.add("page", "b", at("p", 4));
        texts.rewind("p");
        texts.publish(); // refuses 2 and 3 of the earlier delivery
        for (int position = 2; position <= 4; position++) {
            texts.add("page", "x", at("p", position));
        }
        texts.publish();
        assertThat(updates(texts, "page")).as("each once").isEqualTo(4);
        assertThat(texts.durable("p")).hasValue(4);
    }

    /** A stage that fails after its source was rewound is of the earlier delivery: the message comes again. */
    @Test
    void skipOfAnEarlierDeliveryPassesNothingThatIsDeliveredAgain() {
        Aggregates<String> texts = texts(stage.actor("a"));
        texts.add("page", "a".repeat(40), at("p", 1));
        texts.add("page", LARGE, at("p", 2)).whenComplete((nothing, failure) -> {
            if (failure != null) {
                texts.skip(at("p", 2));
            }
        });
        texts.rewind("p");
        texts.publish();
        assertThat(texts.figures().refused()).isEqualTo(1);
        assertThat(texts.durable("p")).isEmpty();
        texts.add("page", "a".repeat(40), at("p", 1));
        texts.add("page", "b", at("p", 2));
        texts.publish();
        assertThat(texts.durable("p")).hasValue(2);
        assertThat(updates(texts, "page")).as("each once").isEqualTo(2);
    }

    // Positions that were never added.

    @Test
    void durableDoesNotPassAnUpdateThatWaitsForRoom() throws Exception {
        Actor a = stage.actor(
                "a",
                builder -> builder.set(AggregateSettings.PENDING, 4)
                        .set(AggregateSettings.ADD_WAIT, Duration.ofSeconds(60)));
        String here = keys(a, 0).getFirst();
        String there = keys(a, 1).getFirst();
        a.losesRequest = call -> true;
        a.visits.add(there, Visit.of(1));
        a.visits.add(there, Visit.of(1));
        Thread waiting = Thread.ofPlatform().start(() -> a.visits.add(there, Visit.of(1), at("p", 5)));
        while (waiting.isAlive() && waiting.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        a.losesRequest = call -> new String(call.keys().getFirst(), UTF_8).contains(":1}");
        a.visits.add(here, Visit.of(1), at("p", 6));
        stage.pass(Duration.ofSeconds(2));
        assertThat(a.visits.durable("p")).isEmpty();
        a.losesRequest = call -> false;
        stage.pass(Duration.ofSeconds(2));
        assertThat(waiting.join(Duration.ofSeconds(60))).isTrue();
        stage.pass(Duration.ofSeconds(2));
        assertThat(a.visits.durable("p")).hasValue(6);
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.views(there)).isEqualTo(3);
    }

    @Test
    void durableDoesNotPassAnUpdateThatTheMergeRefuses() {
        var texts = new AggregatesBuilder<>(
                        stage.actor("a").client, "strict", String.class, (String one, String other) -> {
                            if (other.equals("bad")) {
                                throw HoldfastException.misuse("a bad text", "give a good one");
                            }
                            return one + other;
                        })
                .set(AggregateSettings.SHARDS, 1)
                .callbacks(Runnable::run)
                .start();
        texts.add("page", "x", at("p", 1));
        assertThatThrownBy(() -> texts.add("page", "bad", at("p", 2))).hasMessageContaining("a bad text");
        texts.add("page", "y", at("p", 3));
        texts.publish();
        assertThat(texts.durable("p")).hasValue(1);
        texts.skip(at("p", 2));
        assertThat(texts.durable("p")).hasValue(3);
    }

    @Test
    void skippedPositionLetsDurableGoOn() {
        Aggregates<String> texts = texts(stage.actor("a"));
        texts.add("page", LARGE + LARGE, at("p", 1));
        texts.add("other", "x", at("p", 2));
        texts.publish();
        assertThat(texts.durable("p")).isEmpty();
        texts.skip(at("p", 1));
        assertThat(texts.durable("p")).hasValue(2);
        texts.skip(at("p", 3)); // a message that could not even be read
        assertThat(texts.durable("p")).hasValue(3);
        assertThatThrownBy(() -> texts.skip(Position.id("q", "m"))).hasMessageContaining("unordered source 'q'");
    }

    @Test
    void updateThatNeverFitsDoesNotTakeItsNeighboursWithIt() {
        Aggregates<String> texts = texts(stage.actor("a"));
        List<CompletableFuture<?>> stages = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            stages.add(texts.add("page", i == 7 ? LARGE + LARGE : "x").toCompletableFuture());
        }
        texts.publish();
        assertThat(updates(texts, "page")).isEqualTo(19);
        assertThat(stages.get(7)).isCompletedExceptionally();
        assertThat(stages.stream().filter(stage -> !stage.isCompletedExceptionally()))
                .hasSize(19);
    }

    @Test
    void moreIdsThanOnePublishTakesAreAllCounted() {
        Actor a = stage.actor("a");
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 5_000; i++) {
                a.visits.add("page", Visit.of(1), Position.id("q", "m" + i));
            }
            a.visits.publish();
        }
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.views("page")).isEqualTo(5_000);
    }

    // Errors of user code.

    @Test
    void errorInTheCodecRefusesTheUpdateAndKeepsTheOthers() {
        Actor a = stage.actor("a");
        var texts = new AggregatesBuilder<>(a.client, "fragile", String.class, String::concat)
                .set(AggregateSettings.SHARDS, 1)
                .callbacks(Runnable::run)
                .codec(new Codec<>() {
                    @Override
                    public byte[] encode(String value) {
                        if (value.contains("!")) {
                            throw new AssertionError("no exclamations");
                        }
                        return value.getBytes(java.nio.charset.StandardCharsets.UTF_8);
                    }

                    @Override
                    public String decode(byte[] bytes) {
                        return new String(bytes, java.nio.charset.StandardCharsets.UTF_8);
                    }
                })
                .start();
        var good = texts.add("page", "x").toCompletableFuture();
        var bad = texts.add("page", "!").toCompletableFuture();
        step(a);
        assertThat(good).isCompleted();
        assertThat(bad).isCompletedExceptionally();
        assertThat(texts.pending()).isZero();
    }

    @Test
    void errorInTheMergeLeavesNoKeyBehind() {
        Actor a = stage.actor("a");
        boolean[] overflows = new boolean[1];
        var visits = new AggregatesBuilder<>(a.client, "errors", Visit.class, (Visit one, Visit other) -> {
                    if (overflows[0]) {
                        throw new StackOverflowError("too deep");
                    }
                    return one.merge(other);
                })
                .set(AggregateSettings.SHARDS, 1)
                .callbacks(Runnable::run)
                .start();
        visits.add("page", Visit.of(1));
        visits.publish();
        overflows[0] = true;
        var refused = visits.add("page", Visit.of(2)).toCompletableFuture();
        step(a);
        assertThat(refused).isCompletedExceptionally();
        overflows[0] = false;
        var after = visits.add("page", Visit.of(4)).toCompletableFuture();
        step(a);
        assertThat(after).isCompleted();
        assertThat(visits.pending()).isZero();
    }

    private void step(Actor actor) {
        for (int i = 0; i < 5; i++) {
            stage.time.advance(Duration.ofSeconds(1));
            try {
                actor.duties.runDue();
            } catch (Error e) {
                // the runner of a duty goes on after it
            }
        }
    }

    // Stages.

    @Test
    void oneCallerCannotCompleteTheStageOfAnother() {
        Actor a = stage.actor("a");
        var first = a.visits.add("page", Visit.of(1)).toCompletableFuture();
        var second = a.visits.add("page", Visit.of(1)).toCompletableFuture();
        first.complete(null);
        assertThat(second).isNotDone();
    }

    @Test
    void dependentOfAStageMayAddMoreThanThereIsRoomFor() throws Exception {
        try (Holdfast holdfast = Holdfast.builder(Settings.none()
                        .set(LinkSettings.URI, redis.server().uri().toString()))
                .open()) {
            var visits = holdfast.aggregates("dependents", Visit.class, Visit::merge)
                    .publishInterval(Duration.ofMillis(20))
                    .set(AggregateSettings.SHARDS, 1)
                    .set(AggregateSettings.PENDING, 4)
                    .set(AggregateSettings.ADD_WAIT, Duration.ofSeconds(10))
                    .start();
            CompletableFuture<Integer> added = new CompletableFuture<>();
            visits.add("page", Visit.of(1)).thenRun(() -> {
                try {
                    for (int i = 0; i < 20; i++) {
                        visits.add("page", Visit.of(1));
                    }
                    added.complete(20);
                } catch (HoldfastException e) {
                    added.completeExceptionally(e);
                }
            });
            assertThat(added.get(60, TimeUnit.SECONDS)).isEqualTo(20);
            visits.close();
        }
    }

    // A message with several keys.

    @Test
    void positionIsNotDurableBeforeAllKeysOfItsMessageWereAdded() {
        Actor a = stage.actor("a", builder -> builder.set(AggregateSettings.PENDING, 4));
        String here = keys(a, 0).getFirst();
        List<String> there = keys(a, 1);
        Map<String, Visit> message = new java.util.LinkedHashMap<>();
        message.put(here, Visit.of(1));
        message.put(there.get(1), Visit.of(1));
        a.losesRequest = call -> true;
        a.visits.add(there.get(0), Visit.of(1));
        a.visits.add(there.get(0), Visit.of(1));
        assertThatThrownBy(() -> a.visits.addAll(at("p", 5), message)).isInstanceOf(HoldfastException.class);
        a.losesRequest = call -> false;
        a.visits.publish();
        assertThat(a.visits.durable("p")).as("its second key is missing").isEmpty();
        var stage = a.visits.addAll(at("p", 5), message).toCompletableFuture();
        a.visits.publish();
        assertThat(stage).isCompleted();
        assertThat(a.visits.durable("p")).hasValue(5);
        this.stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(this.stage.views(here)).isEqualTo(1);
        assertThat(this.stage.views(there.get(1))).isEqualTo(1);
    }

    @Test
    void messageWhoseSecondKeyFoundNoRoomMayBeAddedAgainAsAWhole() {
        Actor a = stage.actor("a", builder -> builder.set(AggregateSettings.PENDING, 4));
        List<String> here = keys(a, 0);
        List<String> there = keys(a, 1);
        a.losesRequest = call -> true;
        a.visits.add(there.get(0), Visit.of(1));
        a.visits.add(there.get(0), Visit.of(1));
        a.visits.add(here.get(0), Visit.of(1), at("p", 5));
        assertThatThrownBy(() -> a.visits.add(there.get(1), Visit.of(1), at("p", 5)))
                .isInstanceOfSatisfying(
                        HoldfastException.class,
                        e -> assertThat(e.isRetryable()).isTrue());
        a.losesRequest = call -> false;
        a.visits.publish();
        a.visits.add(here.get(0), Visit.of(1), at("p", 5));
        a.visits.add(there.get(1), Visit.of(1), at("p", 5));
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.views(here.get(0))).isEqualTo(1);
        assertThat(stage.views(there.get(1))).isEqualTo(1);
    }

    private static List<String> keys(Actor actor, int shard) {
        List<String> keys = new ArrayList<>();
        for (int i = 0; keys.size() < 4; i++) {
            if (actor.visits.view().set().shardOf("k" + i) == shard) {
                keys.add("k" + i);
            }
        }
        return keys;
    }
}
