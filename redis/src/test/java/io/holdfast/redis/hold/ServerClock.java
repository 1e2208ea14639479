package io.holdfast.redis.hold;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Jedis;

/**
 * The time that scripts see in these tests. The server's own clock cannot be moved, so the test resources have a {@code time.lua}
 * of their own, which reads a key that is set here.
 */
public final class ServerClock {

    private static final String KEY = "hf-test-clock";

    private ServerClock() {}

    /** Lets time pass at once. */
    public static void advance(Jedis jedis, Duration by) {
        @Nullable String now = jedis.get(KEY);
        long micros = by.toNanos() / 1_000;
        if (now == null) {
            set(jedis, "+" + micros);
        } else {
            String sign = now.startsWith("+") ? "+" : "";
            set(jedis, sign + (Long.parseLong(now.substring(sign.length())) + micros));
        }
    }

    /** The time of a clock that was stopped. */
    public static long millis(Jedis jedis) {
        return Long.parseLong(jedis.get(KEY)) / 1_000;
    }

    /** Stops the clock at a time: it moves by {@link #advance} alone. */
    public static void stopAt(Jedis jedis, long epochMillis) {
        set(jedis, Long.toString(epochMillis * 1_000));
    }

    /** Sets the clock ahead of the server's own, also of a server that was started anew. */
    public static void ahead(Jedis jedis, Duration by) {
        set(jedis, "+" + by.toNanos() / 1_000); // a negative number after the sign is one, too
    }

    /** Also when memory is full. */
    private static void set(Jedis jedis, String value) {
        jedis.eval("#!lua flags=allow-oom\nredis.call('SET', KEYS[1], ARGV[1])", List.of(KEY), List.of(value));
    }
}
