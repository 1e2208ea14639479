package io.holdfast.redis.aggregate;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import redis.clients.jedis.Jedis;

/**
 * Lets a server's time pass at once. The scripts take the time from the server, and the server's clock cannot be moved;
 * but they only compare it with what the shards remember. So everything that they remember of time goes back.
 */
final class ServerClock {

    private static final List<String> PARTS = List.of("due", "deadlines", "claims", "ends", "ids", "meta", "marks");

    private static final String AGE = """
        #!lua flags=allow-oom
        local by = ARGV[1] + 0
        for i = 1, #KEYS, 7 do
          for j = 0, 4 do
            local all = redis.call('ZRANGE', KEYS[i + j], 0, -1, 'WITHSCORES')
            for k = 1, #all, 2 do
              if tonumber(all[k + 1]) > 0 then
                redis.call('ZADD', KEYS[i + j], all[k + 1] - by, all[k])
              end
            end
          end
          for _, field in ipairs({'seen', 'quiet'}) do
            local value = redis.call('HGET', KEYS[i + 5], field)
            if value then
              redis.call('HSET', KEYS[i + 5], field, value - by)
            end
          end
          local all = redis.call('HGETALL', KEYS[i + 6])
          local seconds = math.floor(by / 1000)
          for k = 1, #all, 2 do
            local text = string.gsub(all[k + 1], '\\n[^\\n]+', function(entry)
              entry = string.gsub(entry, '(%d+)$', function(s) return string.format('%d', s - seconds) end)
              return (string.gsub(entry, '^(\\n%x+ %d+ %d+ )([1-9]%d*) ', function(head, s)
                return head .. string.format('%d', s - seconds) .. ' '
              end))
            end)
            redis.call('HSET', KEYS[i + 6], all[k], text)
          end
        end
        """;

    private ServerClock() {}

    static void advance(Jedis jedis, String set, int shards, Duration by) {
        List<String> keys = new ArrayList<>();
        for (int shard = 0; shard < shards; shard++) {
            for (String part : PARTS) {
                keys.add("hf:{aggregate:" + set + ":" + shard + "}:" + part);
            }
        }
        jedis.eval(AGE, keys, List.of(Long.toString(by.toMillis())));
    }
}
