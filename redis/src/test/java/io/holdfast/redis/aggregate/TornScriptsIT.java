package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.aggregate.Stage.Actor;
import io.holdfast.redis.hold.CutScript;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;

/**
 * A script of which only the first writes are there, as after a log that was cut: it counts or it does not, the next call
 * notices, and after the indexes were made again everything goes on.
 */
class TornScriptsIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final String KEY = "page";

    private Stage stage;

    @BeforeEach
    void begin() {
        stage = new Stage(redis.server());
    }

    @AfterEach
    void end() {
        stage.close();
    }

    /** Makes the first writes of a call; returns whether it had more. */
    private static boolean cut(Call call, int writes) {
        try (Jedis jedis = redis.client()) {
            return CutScript.cut(jedis, call, writes);
        }
    }

    /** What the holds do after their own records are right: the numbers agree again. */
    private void rebuild(Actor actor) {
        AggregateScripts scripts = new AggregateScripts(
                ScriptCaller.by(stage.link), actor.visits.view().set());
        try (Jedis jedis = redis.client()) {
            for (int shard = 0; shard < Stage.SHARDS; shard++) {
                String prefix = "hf:{aggregate:visits:" + shard + "}:";
                jedis.hset(prefix + "meta", "rebuild", "rest 0 run");
                while (scripts.rebuild(shard)) {}
                jedis.hdel(prefix + "meta", "rebuild", "rest");
                String raised = jedis.hget(prefix + "things", "T");
                if (raised != null) {
                    jedis.hset(prefix + "things", "U", raised);
                }
            }
        }
    }

    private static boolean isTorn(Actor actor) {
        try (Jedis jedis = redis.client()) {
            String things = "hf:{aggregate:visits:" + actor.visits.view().set().shardOf(KEY) + "}:things";
            return !java.util.Objects.equals(jedis.hget(things, "T"), jedis.hget(things, "U"));
        }
    }

    /** The next call of a script is cut, and nobody gets an answer. */
    private static void cutNext(Actor actor, String script, int writes) {
        actor.losesRequest = call -> {
            if (call.script().name().equals(script)) {
                cut(call, writes);
                actor.losesRequest = other -> true;
                return true;
            }
            return false;
        };
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
    void cutPublishCountsAsAWholeOrNotAtAll(int writes) {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(1), Position.at("p", 1));
        a.visits.add(KEY, Visit.of(2), Position.id("q", "m1"));
        cutNext(a, "publish.lua", writes);
        stage.pass(Duration.ofSeconds(2));
        a.die();
        Actor b = stage.actor("b");
        rebuild(b);
        // The bus delivers both again: they were never durable.
        b.visits.add(KEY, Visit.of(1), Position.at("p", 1));
        b.visits.add(KEY, Visit.of(2), Position.id("q", "m1"));
        stage.pass(Stage.HARD.plus(Stage.LEASE).plusSeconds(10));
        assertThat(stage.views(KEY)).isEqualTo(3);
        assertThat(b.visits.view().stats().waitingBytes()).isZero();
        assertThat(b.visits.view().show(KEY)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
    void cutPublishIsGoneOnWithByTheSameInstance(int writes) {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(1));
        a.visits.publish();
        a.visits.add(KEY, Visit.of(10), Position.at("p", 1));
        cutNext(a, "publish.lua", writes);
        stage.pass(Duration.ofSeconds(2));
        rebuild(a);
        a.losesRequest = call -> false;
        stage.pass(Stage.SOFT.plusSeconds(5));
        assertThat(stage.views(KEY)).isEqualTo(11);
        assertThat(a.visits.durable("p")).hasValue(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void cutExtensionIsTheWholeExtensionOrNone(int writes) {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(1));
        a.visits.publish();
        cutNext(a, "extend.lua", writes);
        assertThatThrownBy(() -> a.visits.extend(KEY, Duration.ofSeconds(100))).isInstanceOf(HoldfastException.class);
        assertThat(isTorn(a)).isTrue();
        rebuild(a);
        a.losesRequest = call -> false;
        stage.pass(Stage.SOFT.plusSeconds(5));
        boolean extended = stage.rows().isEmpty();
        if (extended) {
            stage.pass(Duration.ofSeconds(90));
        }
        assertThat(stage.rows()).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7})
    void cutCommitLeavesNoClaimWithoutParts(int writes) {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(1));
        cutNext(a, "flushed.lua", writes);
        a.visits.end(KEY);
        stage.pass(Duration.ofSeconds(2));
        assertThat(stage.views(KEY)).as("the sink has it").isEqualTo(1);
        rebuild(a);
        a.losesRequest = call -> false;
        stage.pass(Stage.CLAIM.multipliedBy(3));
        assertThat(stage.views(KEY)).isEqualTo(1);
        assertThat(a.visits.view().list(io.holdfast.redis.hold.HoldView.State.DEAD_LETTER, 10))
                .isEmpty();
        assertThat(a.visits.view().stats().waitingBytes()).isZero();
    }

    @Test
    void everyCallAfterACutOneIsRefused() {
        Actor a = stage.actor("a");
        a.visits.add(KEY, Visit.of(1));
        cutNext(a, "publish.lua", 2);
        stage.pass(Duration.ofSeconds(2));
        a.losesRequest = call -> false;
        assertThat(isTorn(a)).isTrue();
        AggregateScripts scripts = new AggregateScripts(
                ScriptCaller.by(stage.link), a.visits.view().set());
        int shard = a.visits.view().set().shardOf(KEY);
        for (Runnable call : List.<Runnable>of(
                () -> scripts.freeze(shard, "by", "why", "", KEY),
                () -> scripts.freezeAll(shard, "by", "why", 1L << 52, "0", 10),
                () -> scripts.extend(shard, KEY, 1_000),
                () -> scripts.one(scripts.tending(shard, 10, 60, "by")))) {
            assertThatThrownBy(call::run)
                    .isInstanceOfSatisfying(
                            HoldfastException.class,
                            e -> assertThat(e.category()).isEqualTo(Category.RETRY))
                    .hasMessageContaining("TORN");
        }
    }
}
