package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.redis.aggregate.Stage.Actor;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An epoch ends with its hard window whoever began it and whoever holds it, and not before an extension is over. */
class AggregateWindowsIT {

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

    /** Its table has room for one key a shard: every publish leaves. */
    private Actor leaver(String name) {
        return stage.actor(name, builder -> builder.set(AggregateSettings.TABLE, Stage.SHARDS));
    }

    private void addEverySecond(Actor actor, long seconds) {
        for (int i = 0; i < seconds; i++) {
            actor.visits.add(KEY, Visit.of(1));
            stage.pass(SECOND);
        }
    }

    // The hard end.

    @Test
    void keyThatEveryPublishLeavesEndsWithItsHardWindow() {
        Actor a = leaver("a");
        addEverySecond(a, Stage.HARD.toSeconds() + 5);
        assertThat(stage.rows()).hasSize(1);
        assertThat(stage.rows().getFirst().views()).isBetween(Stage.HARD.toSeconds() - 3, Stage.HARD.toSeconds() + 3);
    }

    @Test
    void hardEndOfAnEarlierEpochDoesNotEndTheNextOne() {
        Actor a = stage.actor("a");
        Actor b = leaver("b");
        a.visits.add(KEY, Visit.of(1));
        stage.pass(Duration.ofSeconds(15));
        a.visits.add(KEY, Visit.of(1));
        stage.pass(Duration.ofSeconds(15));
        a.visits.forceEnd(KEY);
        addEverySecond(b, 50); // beyond the end of the first one's hard window
        assertThat(stage.rows()).as("only the epoch that was closed").hasSize(1);
        addEverySecond(b, 15);
        assertThat(stage.rows())
                .as("its own hard window has ended the second one")
                .hasSize(2);
    }

    @Test
    void softEndOfALeftKeyIsNotAfterItsHardEnd() {
        Actor a = leaver("a");
        addEverySecond(a, Stage.HARD.toSeconds() - 5);
        stage.pass(Duration.ofSeconds(8));
        assertThat(stage.rows()).hasSize(1);
    }

    @Test
    void epochThatALeaverBeganAndAnotherHoldsEndsWithItsHardWindow() {
        Actor a = leaver("a");
        Actor b = stage.actor("b");
        a.visits.add(KEY, Visit.of(1));
        stage.pass(Duration.ofSeconds(15));
        addEverySecond(b, Stage.HARD.toSeconds() - 10);
        assertThat(stage.rows()).hasSize(1);
        assertThat(stage.rows().getFirst().views()).isBetween(40L, 50L);
    }

    // Extensions.

    @Test
    void extensionIsKeptByAPublishThatHoldsTheKeyAgain() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.visits.add(KEY, Visit.of(1));
        a.visits.extend(KEY, Stage.HARD.multipliedBy(2));
        a.visits.close();
        a.die();
        stage.pass(Duration.ofSeconds(5));
        addEverySecond(b, Stage.HARD.toSeconds() + 20);
        assertThat(stage.rows()).isEmpty();
        stage.pass(Stage.HARD);
        assertThat(stage.rows()).hasSize(1);
    }

    @Test
    void extensionByAnInstanceWithoutAPartOutlivesTheLastHolder() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.visits.add(KEY, Visit.of(1));
        a.visits.publish();
        b.visits.extend(KEY, Duration.ofSeconds(100));
        a.visits.close();
        a.die();
        stage.pass(Duration.ofSeconds(90));
        assertThat(stage.rows()).isEmpty();
        stage.pass(Duration.ofSeconds(15));
        assertThat(stage.rows()).hasSize(1);
    }

    @Test
    void extensionSurvivesTheDeathOfItsExtender() {
        Actor a = stage.actor("a");
        stage.actor("b");
        a.visits.add(KEY, Visit.of(1));
        a.visits.extend(KEY, Duration.ofSeconds(100));
        a.die();
        stage.pass(Duration.ofSeconds(90));
        assertThat(stage.rows()).isEmpty();
        stage.pass(Duration.ofSeconds(20));
        assertThat(stage.rows()).hasSize(1);
    }

    @Test
    void longestOfSeveralExtensionsHolds() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.visits.add(KEY, Visit.of(1));
        a.visits.extend(KEY, Duration.ofSeconds(100));
        b.visits.extend(KEY, Duration.ofSeconds(5));
        b.visits.add(KEY, Visit.of(1));
        stage.pass(Duration.ofSeconds(90));
        assertThat(stage.rows()).isEmpty();
        stage.pass(Duration.ofSeconds(20));
        assertThat(stage.rows()).hasSize(1);
    }

    @Test
    void extensionOfAnEpochThatEndedDoesNotKeepTheNextOneOpen() {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(1));
        a.visits.extend(KEY, Duration.ofSeconds(500));
        a.visits.forceEnd(KEY);
        a.visits.add(KEY, Visit.of(1));
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.rows()).hasSize(2);
    }
}
