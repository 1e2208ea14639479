package io.holdfast.bench.graph;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol;

/**
 * What a call cannot go below where it runs: plain HSET and HDEL of a batch of values, while a hash grows to so many and
 * shrinks again. Where memory that was never touched is slow to come, these stall too.
 */
final class PlainHash {

    private static final byte[] HASH = "plain".getBytes(UTF_8);
    private static final int BATCH = 256;

    private final Jedis redis;
    private final LongestCall calls;

    PlainHash(Jedis redis, LongestCall calls) {
        this.redis = redis;
        this.calls = calls;
    }

    /** The longest call while the hash grew, and while it shrank, in milliseconds. */
    record Seen(double setting, double deleting) {}

    Seen measure(int values, int bytes) {
        calls.reset();
        SplittableRandom random = new SplittableRandom(7);
        List<byte[]> ids = new ArrayList<>();
        while (ids.size() < values) {
            List<byte[]> batch = new ArrayList<>(List.of(HASH));
            for (int i = 0; i < BATCH; i++) {
                byte[] id = new byte[16];
                random.nextBytes(id);
                ids.add(id);
                batch.add(id);
                batch.add(new byte[bytes]);
            }
            calls.watch(() -> redis.sendCommand(Protocol.Command.HSET, batch.toArray(byte[][]::new)));
        }
        double setting = calls.longestMillis();
        calls.reset();
        for (int i = 0; i < ids.size(); i += BATCH) {
            byte[][] batch = ids.subList(i, i + BATCH).toArray(byte[][]::new);
            calls.watch(() -> redis.hdel(HASH, batch));
        }
        return new Seen(setting, calls.longestMillis());
    }
}
