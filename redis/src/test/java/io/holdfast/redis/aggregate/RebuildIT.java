package io.holdfast.redis.aggregate;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.redis.aggregate.Stage.Actor;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** Several instances find a torn shard at the same time, and each rebuilds it in steps between those of the others. */
class RebuildIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final int KEYS = 1_500;

    private Stage stage;

    @BeforeEach
    void begin() {
        stage = new Stage(redis.server());
    }

    @AfterEach
    void end() {
        stage.close();
    }

    private static String key(int shard, String part) {
        return "hf:{aggregate:visits:" + shard + "}:" + part;
    }

    /** What `parts` really holds of epochs. */
    private static long bytes(int shard) {
        long[] sum = {0};
        try (Jedis jedis = redis.client()) {
            jedis.hgetAll(key(shard, "parts").getBytes(UTF_8)).forEach((field, value) -> {
                if (Character.isDigit(field[0])) {
                    sum[0] += value.length;
                }
            });
        }
        return sum[0];
    }

    private static long counted(int shard) {
        try (Jedis jedis = redis.client()) {
            return Long.parseLong(jedis.hget(key(shard, "meta"), "bytes"));
        }
    }

    private static void tear(int shard) {
        try (Jedis jedis = redis.client()) {
            jedis.hincrBy(key(shard, "things"), "T", 1);
        }
    }

    private static boolean isRebuildOfParts(Call call) {
        return call.script().name().equals("rebuild.lua")
                && new String(call.keys().getLast(), UTF_8).endsWith(":sizes");
    }

    @Test
    void bytesAreCountedOnceThoughTwoInstancesRebuild() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        for (int i = 0; i < KEYS; i++) {
            a.visits.add("k" + i, Visit.of(1));
        }
        a.visits.publish();
        tear(0);
        AtomicInteger steps = new AtomicInteger();
        a.losesRequest = call -> {
            if (isRebuildOfParts(call) && steps.incrementAndGet() == 6) {
                b.visits.extend("k" + firstOf(b, 0), Duration.ofSeconds(30)); // finds the shard torn, and rebuilds it
            }
            return false;
        };
        a.visits.extend("k" + firstOf(a, 0), Duration.ofSeconds(30));
        assertThat(steps.get()).isGreaterThan(5);
        assertThat(counted(0)).isEqualTo(bytes(0));
        stage.pass(Stage.HARD.plus(Stage.LEASE).plusSeconds(10));
        assertThat(counted(0)).isZero();
        assertThat(stage.rows()).hasSize(KEYS);
    }

    @Test
    void quietTimeBeginsWhenTheRebuildEnds() {
        Actor a = stage.actor("a");
        for (int i = 0; i < 50; i++) {
            a.visits.add("k" + i, Visit.of(1));
        }
        a.visits.publish();
        tear(0);
        long[] finished = new long[1];
        a.losesRequest = call -> {
            if (isRebuildOfParts(call) && finished[0] == 0) {
                stage.passWithout(a);
                finished[0] = a.visits.view().nowMillis(0);
            }
            return false;
        };
        a.visits.extend("k" + firstOf(a, 0), Duration.ofSeconds(30));
        try (Jedis jedis = redis.client()) {
            long quiet = Long.parseLong(jedis.hget(key(0, "meta"), "quiet"));
            assertThat(quiet).isGreaterThanOrEqualTo(finished[0] + Stage.LEASE.toMillis());
        }
    }

    private static int firstOf(Actor actor, int shard) {
        int i = 0;
        while (actor.visits.view().set().shardOf("k" + i) != shard) {
            i++;
        }
        return i;
    }
}
