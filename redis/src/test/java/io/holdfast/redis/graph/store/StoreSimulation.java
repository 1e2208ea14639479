package io.holdfast.redis.graph.store;

import io.holdfast.Settings;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.testkit.Seeds;
import io.holdfast.testkit.SharedRedis;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/**
 * Random calls of the scripts against a model of what must be there: repeated calls, calls that arrive late, for the
 * first time or again, leases that lapse, steps that declare the wrong segments, packing. After every few calls each
 * number on the server is counted anew.
 */
class StoreSimulation {

    private static final int CALLS = 250;

    @RegisterExtension
    static final SharedRedis server = SharedRedis.plain();

    @Test
    void everyNumberIsRightAfterEveryCallAndNothingIsLeftAtTheEnd() {
        try (RedisLink link = RedisLink.connect(
                Settings.none().set(LinkSettings.URI, server.uri().toString()))) {
            Seeds.of(25).run((seed, random) -> {
                try (Jedis redis = server.client()) {
                    redis.flushAll();
                    new StoreModel(link, redis, random, random.nextInt(3) == 0).run(CALLS);
                }
            });
        }
    }
}
