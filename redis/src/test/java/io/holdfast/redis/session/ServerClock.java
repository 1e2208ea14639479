package io.holdfast.redis.session;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import redis.clients.jedis.Jedis;

/**
 * Lets a server's time pass at once. The scripts take the time from the server, and the server's clock cannot be moved;
 * but they only compare it with what the shards remember. So everything that they remember of time goes back.
 */
public final class ServerClock {

    private static final String AGE = """
        #!lua flags=allow-oom
        for i = 1, #KEYS, 4 do
          for j = 0, 2 do
            local all = redis.call('ZRANGE', KEYS[i + j], 0, -1, 'WITHSCORES')
            for k = 1, #all, 2 do
              if tonumber(all[k + 1]) > 0 then
                redis.call('ZADD', KEYS[i + j], all[k + 1] - ARGV[1], all[k])
              end
            end
          end
          for _, field in ipairs({'seen', 'quiet'}) do
            local value = redis.call('HGET', KEYS[i + 3], field)
            if value then
              redis.call('HSET', KEYS[i + 3], field, value - ARGV[1])
            end
          end
        end
        """;

    private ServerClock() {}

    public static void advance(Jedis jedis, String set, int shards, Duration by) {
        List<String> keys = new ArrayList<>();
        for (int shard = 0; shard < shards; shard++) {
            for (String part : List.of("due", "deadlines", "claims", "meta")) {
                keys.add("hf:{session:" + set + ":" + shard + "}:" + part);
            }
        }
        jedis.eval(AGE, keys, List.of(Long.toString(by.toMillis())));
    }
}
