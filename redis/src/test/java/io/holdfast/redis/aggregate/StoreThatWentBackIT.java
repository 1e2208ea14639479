package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.redis.aggregate.Stage.Actor;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.RestoreParams;

/** A store that lost its last writes, as after a fail-over: what an instance has in memory comes back, and nothing counts twice. */
class StoreThatWentBackIT {

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

    /** All keys of the set as they are now; run the result to go back to them. */
    private static Runnable state() {
        Map<String, byte[]> all = new HashMap<>();
        try (Jedis jedis = redis.client()) {
            jedis.keys("hf:{aggregate:*").forEach(key -> all.put(key, jedis.dump(key)));
        }
        return () -> {
            try (Jedis jedis = redis.client()) {
                jedis.keys("hf:{aggregate:*").forEach(jedis::del);
                all.forEach((key, bytes) -> jedis.restore(
                        key, 0, bytes, RestoreParams.restoreParams().replace()));
            }
        };
    }

    @Test
    void partThatIsLeftAfterTheStoreWentBackIsPutBackFirst() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.visits.add(KEY, Visit.of(5));
        a.visits.publish();
        Runnable back = state();
        a.visits.add(KEY, Visit.of(1));
        a.visits.publish();
        back.run();
        a.visits.close();
        a.die();
        stage.pass(Stage.SOFT.plus(Stage.LEASE).plusSeconds(10));
        assertThat(b.flushed).isNotEmpty();
        assertThat(stage.views(KEY)).as("the last publish was still in memory").isEqualTo(6);
    }

    @Test
    void partOfAnEpochThatEndedInTheEarlierStateIsNotCountedAgain() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.visits.add(KEY, Visit.of(5));
        a.visits.publish();
        Runnable back = state();
        a.visits.add(KEY, Visit.of(1));
        a.visits.publish();
        back.run();
        b.visits.forceEnd(KEY);
        stage.pass(Duration.ofSeconds(2));
        assertThat(stage.views(KEY)).as("the earlier state is flushed").isEqualTo(5);
        a.visits.add(KEY, Visit.of(2));
        a.visits.publish();
        a.visits.end(KEY);
        stage.pass(Duration.ofSeconds(3));
        assertThat(stage.views(KEY)).as("what was flushed counts once").isEqualTo(7);
    }
}
