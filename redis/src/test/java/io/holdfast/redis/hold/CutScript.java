package io.holdfast.redis.hold;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.redis.link.RedisLink.Call;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * Makes the first writes of a script alone, as a log that was cut inside it brings them back. An error in a script keeps what
 * it has written, so a script that fails before a given write leaves the same as one that was cut there.
 */
public final class CutScript {

    private static final String PLANTED = "cut by a test";

    private CutScript() {}

    /** Makes the first writes of a call; returns whether it had more. */
    public static boolean cut(Jedis jedis, Call call, int writes) {
        String source = new String(call.script().source(), UTF_8);
        int line = source.indexOf('\n');
        String cutting = source.substring(0, line) + """

            local whole, left = redis, %d
            local reads = {HGET = 1, HMGET = 1, HSTRLEN = 1, HEXISTS = 1, HLEN = 1, ZSCORE = 1, ZMSCORE = 1, ZRANGE = 1,
              ZCARD = 1, ZRANGEBYSCORE = 1, ZSCAN = 1, HSCAN = 1, TIME = 1, GET = 1, INFO = 1}
            local function counted(name, ...)
              if not reads[name] then
                if left == 0 then
                  error('%s')
                end
                left = left - 1
              end
              return whole.call(name, ...)
            end
            local redis = {call = counted, pcall = whole.pcall, error_reply = whole.error_reply}
            """.formatted(writes, PLANTED) + source.substring(line + 1);
        try {
            jedis.eval(cutting.getBytes(UTF_8), call.keys(), call.arguments());
            return false;
        } catch (JedisDataException e) {
            if (!String.valueOf(e.getMessage()).contains(PLANTED)) {
                throw e;
            }
            return true;
        }
    }
}
