package io.holdfast.redis.hold;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.ManualTime;
import io.holdfast.Settings;
import io.holdfast.ThingId;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** A caller that finds its shard torn rebuilds it for one time-out, and leaves the rest to the next call. */
class MendingCallerIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final HoldSet SET = new HoldSet(ThingId.Kind.SESSION, "rooms", 1, HoldSet.Mode.HOLDERS);
    private static final String PREFIX = "hf:{session:rooms:0}:";
    private static final int THINGS = 3_000;

    /** Every call takes half a second. */
    private static ScriptCaller slow(RedisLink link, ManualTime time) {
        return new ScriptCaller() {
            @Override
            public Reply call(Call call) {
                time.advance(Duration.ofMillis(500));
                return link.call(call);
            }

            @Override
            public List<Outcome> callAll(List<Call> calls) {
                return link.callAll(calls);
            }
        };
    }

    @Test
    void rebuildThatTakesLongerThanATimeOutIsFinishedByLaterCalls() {
        ManualTime time = new ManualTime();
        try (RedisLink link = RedisLink.connect(
                        Settings.none().set(LinkSettings.URI, redis.uri().toString()));
                Jedis jedis = redis.client()) {
            jedis.flushAll();
            for (int i = 0; i < THINGS; i++) {
                jedis.hset(PREFIX + "things", "=s" + i, "1794976521438902" + "0-idle");
            }
            jedis.hset(PREFIX + "things", "T", "1");
            ScriptCaller slow = slow(link, time);
            ScriptCaller mending = new MendingCaller(slow, SET, Duration.ofSeconds(5), shard -> false, time);
            HoldScripts scripts = new HoldScripts(mending, SET);
            long begun = time.nanoTime();
            assertThatThrownBy(() -> scripts.end(0, "s1", false, "test"))
                    .isInstanceOfSatisfying(
                            HoldfastException.class,
                            e -> assertThat(e.isRetryable()).isTrue())
                    .hasMessageContaining("still being rebuilt");
            assertThat(Duration.ofNanos(time.nanoTime() - begun))
                    .isLessThanOrEqualTo(slow.timeout().multipliedBy(2));
            int calls = 1;
            while (jedis.hget(PREFIX + "meta", "rebuild") != null && calls++ < 100) {
                try {
                    scripts.end(0, "s1", false, "test");
                } catch (HoldfastException e) {
                    assertThat(e.isRetryable()).isTrue();
                }
            }
            assertThat(jedis.hget(PREFIX + "things", "U")).isEqualTo(jedis.hget(PREFIX + "things", "T"));
            assertThat(jedis.zcard(PREFIX + "due")).isEqualTo(THINGS);
        }
    }
}
