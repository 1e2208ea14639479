package io.holdfast.redis.aggregate;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ReclaimReason;
import io.holdfast.ThingId;
import io.holdfast.redis.aggregate.Stage.Actor;
import io.holdfast.redis.hold.HoldView.State;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** How epochs end, and how they reach the sink: windows, deaths, a sink that fails. */
class AggregateEndsIT {

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

    private static int shardOf(Actor actor, String key) {
        return actor.visits.view().set().shardOf(key);
    }

    // Windows.

    @Test
    void hardWindowEndsAnEpochThatIsStillInUse() {
        Actor a = stage.actor("a");
        for (int i = 0; i < Stage.HARD.toSeconds() + 20; i++) {
            a.visits.add(KEY, Visit.of(1));
            stage.pass(SECOND);
        }
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.rows()).hasSize(2);
        assertThat(stage.rows().getFirst().views()).isBetween(Stage.HARD.toSeconds() - 3, Stage.HARD.toSeconds() + 3);
        assertThat(stage.views(KEY)).isEqualTo(Stage.HARD.toSeconds() + 20);
        assertThat(a.visits.figures().frozen()).isEqualTo(1);
    }

    @Test
    void softWindowSlidesWithEveryUpdateOfAnyInstance() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        for (int i = 0; i < 3; i++) {
            (i % 2 == 0 ? a : b).visits.add(KEY, Visit.of(1));
            stage.pass(Stage.SOFT.minusSeconds(5));
            assertThat(stage.rows()).isEmpty();
        }
        stage.pass(Stage.SOFT);
        assertThat(stage.rows()).hasSize(1);
    }

    @Test
    void extendKeepsAnEpochOpenBeyondBothWindows() {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(1));
        a.visits.extend(KEY, Stage.HARD.multipliedBy(2));
        stage.pass(Stage.HARD.plusSeconds(30));
        assertThat(stage.rows()).isEmpty();
        stage.pass(Stage.HARD);
        assertThat(stage.rows()).hasSize(1);
        assertThatThrownBy(() -> a.visits.extend(KEY, SECOND)).hasMessageContaining("no open aggregate");
    }

    @Test
    void closeAllEndsWhatEveryInstanceHolds() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        for (int i = 0; i < 300; i++) {
            (i % 2 == 0 ? a : b).visits.add("page" + i, Visit.of(1));
        }
        b.visits.publish();
        assertThat(a.visits.endAll()).isEqualTo(300);
        stage.pass(SECOND.multipliedBy(5));
        assertThat(stage.rows()).hasSize(300);
    }

    @Test
    void eventTimesOfAllPartsReachTheSink() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.visits.add(KEY, Visit.of(1), null, Instant.ofEpochSecond(2_000));
        b.visits.add(KEY, Visit.of(1), null, Instant.ofEpochSecond(1_000));
        b.visits.add(KEY, Visit.of(1), null, Instant.ofEpochSecond(3_000));
        stage.pass(Stage.SOFT.plusSeconds(5));
        List<Flush<Visit>> flushes = a.flushed.isEmpty() ? b.flushed : a.flushed;
        assertThat(flushes).singleElement().satisfies(flush -> {
            assertThat(flush.firstEvent()).contains(Instant.ofEpochSecond(1_000));
            assertThat(flush.lastEvent()).contains(Instant.ofEpochSecond(3_000));
        });
    }

    // Deaths.

    @Test
    void partsOfADeadInstanceAreFlushedByAnother() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.visits.add(KEY, Visit.of(10));
        a.visits.publish();
        a.die();
        stage.pass(Stage.LEASE.plus(Stage.SOFT).plusSeconds(5));
        assertThat(stage.views(KEY)).isEqualTo(10);
        assertThat(b.flushed).hasSize(1);
        assertThat(b.visits.figures().lapsedLeases()).isPositive();
    }

    @Test
    void instanceWhoseLeaseLapsedGoesOnWithItsPart() {
        Actor a = stage.actor("a");
        stage.actor("b");
        a.visits.add(KEY, Visit.of(10));
        a.visits.publish();
        a.stalled = true;
        stage.pass(Stage.LEASE.multipliedBy(2));
        a.stalled = false;
        a.visits.add(KEY, Visit.of(1));
        stage.pass(Stage.SOFT.plusSeconds(8));
        assertThat(stage.rows()).singleElement().satisfies(row -> {
            assertThat(row.views()).isEqualTo(11);
            assertThat(row.parts()).isEqualTo(1);
        });
    }

    @Test
    void crashBetweenSinkAndCommitWritesOneRow() {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(10));
        a.losesRequest = call -> call.script().name().equals("flushed.lua");
        a.visits.forceEnd(KEY);
        stage.pass(SECOND.multipliedBy(2));
        assertThat(stage.rows()).hasSize(1);
        a.die();
        Actor b = stage.actor("b");
        stage.pass(Stage.CLAIM.plus(Stage.LEASE).plusSeconds(5));
        assertThat(b.flushed).as("the sink saw it again").hasSize(1);
        assertThat(b.flushed.getFirst().token())
                .isGreaterThan(a.flushed.getFirst().token());
        assertThat(stage.rows()).hasSize(1);
        assertThat(b.visits.view().show(KEY)).isEmpty();
    }

    @Test
    void cleanEndPublishesAndLeavesAndOthersFlush() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.visits.add(KEY, Visit.of(10));
        a.visits.close();
        a.die();
        assertThat(b.visits.view().show(KEY))
                .singleElement()
                .satisfies(epoch -> assertThat(epoch.life().state()).isEqualTo(State.GRACE));
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.views(KEY)).isEqualTo(10);
    }

    @Test
    void storeThatWentBackGetsThePartOfTheOpenEpochAgain() {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(1));
        a.visits.publish();
        Map<String, byte[]> earlier = new HashMap<>();
        try (Jedis jedis = redis.client()) {
            jedis.keys("hf:*").forEach(key -> earlier.put(key, jedis.dump(key)));
            a.visits.add(KEY, Visit.of(10));
            a.visits.publish();
            jedis.flushAll(); // a fail-over to a replica that had not seen the last publish
            earlier.forEach((key, value) -> jedis.restore(key, 0, value));
        }
        a.visits.add(KEY, Visit.of(100));
        a.visits.publish();
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.rows())
                .singleElement()
                .satisfies(row -> assertThat(row.views()).isEqualTo(111));
    }

    @Test
    void storeThatLostEverythingGetsTheOpenPartsAgainWithoutAnotherUpdate() {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(1));
        a.visits.add("other", Visit.of(2));
        a.visits.publish();
        redis.server().flush();
        stage.pass(Stage.LEASE.plus(Stage.SOFT).plusSeconds(10));
        assertThat(stage.views(KEY)).isEqualTo(1);
        assertThat(stage.views("other")).isEqualTo(2);
    }

    @Test
    void storeThatLostAnEpochGetsItsPartWithTheNextUpdate() {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(1));
        a.visits.publish();
        redis.server().flush();
        a.visits.add(KEY, Visit.of(10));
        stage.pass(Stage.LEASE.plus(Stage.SOFT).plusSeconds(10));
        assertThat(stage.views(KEY)).isEqualTo(11);
    }

    // The way to the sink.

    @Test
    void flushIsInTheLedgerAndToldToListeners() {
        Actor a = stage.actor("a");
        List<String> told = new java.util.ArrayList<>();
        a.client.notices().add(reclaimed -> told.add(reclaimed.ids().getFirst()));
        a.visits.add(KEY, Visit.of(10));
        long epoch = a.visits.forceEnd(KEY);
        stage.pass(SECOND.multipliedBy(2));
        var thing = new ThingId(ThingId.Kind.AGGREGATE, Stage.SET, KEY);
        assertThat(a.visits.view().ledger(KEY).find(thing)).hasValueSatisfying(record -> {
            assertThat(record.reason()).isEqualTo(ReclaimReason.FLUSHED);
            assertThat(record.evidence()).contains("ended by a#", "epoch " + epoch, "1 updates in 1 parts");
        });
        assertThat(told).containsExactly(KEY);
    }

    @Test
    void tooManyWaitingBytesAreRefusedAndNothingIsLost() {
        Actor a = stage.actor(
                "a",
                builder -> builder.set(AggregateSettings.WAITING_LIMIT, 1_024L)
                        .set(AggregateSettings.PENDING, 20)
                        .set(AggregateSettings.RETRY_PAUSE, SECOND));
        a.sinkIsDown = true;
        int accepted = 0;
        @Nullable HoldfastException refused = null;
        for (int i = 0; i < 400 && refused == null; i++) {
            try {
                a.visits.add("page" + i, Visit.of(1));
                accepted++;
            } catch (HoldfastException e) {
                refused = e;
            }
            stage.pass(Duration.ofMillis(500));
        }
        assertThat(refused)
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.FULL));
        assertThat(a.visits.figures().waitingBytes()).isBetween(500L, 1_024L);
        a.sinkIsDown = false;
        stage.pass(Stage.SOFT.plusSeconds(120));
        assertThat(stage.rows()).hasSize(accepted);
        assertThat(a.visits.pending()).isZero();
    }

    @Test
    void valueThatTheSinkRefusesForGoodBecomesADeadLetterAndMayBeRetried() throws Exception {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(10));
        a.visits.add("other", Visit.of(1));
        a.visits.publish();
        a.flushesLater = true;
        long epoch = a.visits.forceEnd(KEY);
        a.visits.forceEnd("other");
        try (var connection = stage.database.getConnection();
                var statement = connection.createStatement()) {
            statement.execute(JdbcSink.definition("visits", "holdfast_visits", Visit.of(0), false));
            statement.execute("insert into holdfast_visits values ('visits', '" + KEY + "', " + epoch
                    + ", 1, 1, 1, null, null, now(), 'another', x'00', 99, 0)");
        }
        a.flushesLater = false;
        stage.pass(SECOND.multipliedBy(3));
        assertThat(a.visits.view().list(State.DEAD_LETTER, 10)).singleElement().satisfies(letter -> {
            assertThat(letter.id()).isEqualTo(KEY);
            assertThat(letter.evidence()).contains("has another value for this key and epoch");
        });
        assertThat(stage.views("other")).isEqualTo(1);
        assertThat(stage.views(KEY)).as("nothing was overwritten").isEqualTo(99);
        try (var connection = stage.database.getConnection();
                var statement = connection.createStatement()) {
            statement.execute("delete from holdfast_visits where digest = 'another'");
        }
        a.visits.view().retry(KEY, epoch);
        stage.pass(SECOND.multipliedBy(3));
        assertThat(stage.views(KEY)).isEqualTo(10);
    }

    @Test
    void partThatCannotBeReadMakesTheWholeEpochADeadLetter() {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(10));
        a.visits.publish();
        long epoch = a.visits.view().show(KEY).getFirst().life().epoch();
        String part = "0123456789abcdef4:\u0001\u0001\u0000?";
        String field = AggregateScripts.field(KEY, epoch);
        String parts = "hf:{aggregate:visits:" + shardOf(a, KEY) + "}:parts";
        byte[] good;
        try (Jedis jedis = redis.client()) {
            good = jedis.hget(parts.getBytes(UTF_8), field.getBytes(UTF_8));
            byte[] both = new byte[good.length + part.length()];
            System.arraycopy(good, 0, both, 0, good.length);
            System.arraycopy(part.getBytes(UTF_8), 0, both, good.length, part.length());
            jedis.hset(parts.getBytes(UTF_8), field.getBytes(UTF_8), both);
        }
        a.visits.forceEnd(KEY);
        stage.pass(SECOND.multipliedBy(3));
        assertThat(stage.rows()).as("no part of it is written").isEmpty();
        assertThat(a.visits.view().show(KEY)).singleElement().satisfies(dead -> {
            assertThat(dead.life().state()).isEqualTo(State.DEAD_LETTER);
            assertThat(dead.life().evidence()).contains("its parts cannot be read or merged");
            assertThat(dead.parts()).hasSize(2);
        });
        try (Jedis jedis = redis.client()) {
            jedis.hset(parts.getBytes(UTF_8), field.getBytes(UTF_8), good);
        }
        a.visits.view().retry(KEY, epoch);
        stage.pass(SECOND.multipliedBy(3));
        assertThat(stage.views(KEY)).isEqualTo(10);
    }

    @Test
    void valueThatKeepsFailingDoesNotKeepItsNeighbours() {
        Actor[] self = new Actor[1];
        self[0] = stage.actor(
                "a",
                builder -> builder.set(AggregateSettings.ATTEMPTS, 3).sink(batch -> {
                    if (batch.stream().anyMatch(flush -> flush.key().equals("poison"))) {
                        throw new IllegalStateException("cannot write that");
                    }
                    self[0].flushed.addAll(batch);
                }));
        Actor a = self[0];
        a.visits.add("poison", Visit.of(1));
        for (int i = 0; i < 20; i++) {
            a.visits.add("page" + i, Visit.of(1));
        }
        a.visits.endAll();
        stage.pass(Duration.ofSeconds(30));
        assertThat(a.flushed).hasSize(20);
        assertThat(a.visits.view().list(State.DEAD_LETTER, 10))
                .singleElement()
                .satisfies(letter -> assertThat(letter.attempts()).isEqualTo(3));
    }
}
