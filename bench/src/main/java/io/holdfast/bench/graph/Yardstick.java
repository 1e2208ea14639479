package io.holdfast.bench.graph;

import io.holdfast.testkit.RedisServer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import redis.clients.jedis.Jedis;

/**
 * Calls that keep the server about as long as a step of reclaiming does, and touch nothing: a loop. What the longest of them
 * took beyond that, the machine took, not the server.
 */
final class Yardstick implements AutoCloseable {

    private static final int CALL_MICROS = 700;
    private static final int TRIAL_TURNS = 100_000;
    private static final byte[] LOOP =
            "local turns = 0 while turns < tonumber(ARGV[1]) do turns = turns + 1 end return turns"
                    .getBytes(StandardCharsets.US_ASCII);

    private final Jedis redis;
    private final LongestCall calls;
    private final byte[] script;
    private final byte[] turns;

    Yardstick(RedisServer server) {
        redis = server.client();
        calls = new LongestCall(server);
        script = redis.scriptLoad(LOOP);
        byte[] trial = ascii(TRIAL_TURNS);
        long fastest = Long.MAX_VALUE;
        for (int i = 0; i < 20; i++) {
            long begin = System.nanoTime();
            redis.evalsha(script, List.of(), List.of(trial));
            fastest = Math.min(fastest, System.nanoTime() - begin);
        }
        turns = ascii(Math.max(1, Math.round(TRIAL_TURNS * (CALL_MICROS * 1e3 / fastest))));
    }

    private static byte[] ascii(long number) {
        return String.valueOf(number).getBytes(StandardCharsets.US_ASCII);
    }

    void call() {
        calls.watch(() -> redis.evalsha(script, List.of(), List.of(turns)));
    }

    void reset() {
        calls.reset();
    }

    double longestMillis() {
        return calls.longestMillis();
    }

    @Override
    public void close() {
        calls.close();
        redis.close();
    }
}
