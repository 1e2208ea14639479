package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Jedis;

/**
 * Looks at the server after every operation of a simulation: no epoch ends before its window allows, and none stays open after its
 * hard window, its extension and the time in which deadlines are not trusted are over. It keeps its own account of when epochs
 * began and how far callers were told that they are extended.
 */
final class WindowWatch {

    /** An epoch is found at the end by a poll of an instance that is not stalled. */
    private static final Duration POLL = Duration.ofSeconds(4);

    private record Open(long epoch, long beganMin, long beganMax, long extendedMin) {}

    private final Jedis jedis;
    private final int shards;
    private final long hardMillis;
    private final Map<String, Open> open = new HashMap<>();
    private long lookedAt;
    /** The clock may have gone back since: what was extended then lasts longer. */
    private long latest;

    WindowWatch(Jedis jedis, int shards, Duration hard) {
        this.jedis = jedis;
        this.shards = shards;
        this.hardMillis = hard.toMillis();
    }

    /** A caller was told that the key's open epoch stays open until then, by the server's clock. */
    void extended(String key, long untilMillis) {
        look(Long.MAX_VALUE);
        Open it = open.get(key);
        if (it != null) {
            open.put(key, new Open(it.epoch, it.beganMin, it.beganMax, Math.max(it.extendedMin, untilMillis)));
        }
    }

    /** Compares what is open with the look before. */
    void look(long nowMillis) {
        long now = nowMillis == Long.MAX_VALUE ? lookedAt : nowMillis;
        Map<String, Long> found = new HashMap<>();
        for (int shard = 0; shard < shards; shard++) {
            for (Map.Entry<String, String> thing :
                    jedis.hgetAll(prefix(shard) + "things").entrySet()) {
                if (thing.getKey().startsWith("=") && thing.getValue().charAt(0) != '0') {
                    found.put(
                            thing.getKey().substring(1),
                            Long.parseLong(thing.getValue().substring(0, 16)));
                }
            }
        }
        for (Map.Entry<String, Open> before : Map.copyOf(open).entrySet()) {
            Long epoch = found.get(before.getKey());
            if (epoch == null || epoch != before.getValue().epoch) {
                ended(before.getKey(), before.getValue(), now);
                open.remove(before.getKey());
            }
        }
        found.forEach((key, epoch) ->
                open.putIfAbsent(key, new Open(epoch, Math.min(lookedAt, now), Math.max(lookedAt, now), 0)));
        lookedAt = now;
        latest = Math.max(latest, now);
    }

    /** Until when an extension can last that was made up to now. */
    long latestExtension(Duration longest) {
        return latest + longest.toMillis();
    }

    private void ended(String key, Open it, long now) {
        String why = evidence(key, it.epoch);
        if (why.contains("ended by")) {
            return; // by force
        }
        assertThat(now)
                .as("epoch %s of %s ended (%s) although it was extended", it.epoch, key, why)
                .isGreaterThanOrEqualTo(it.extendedMin);
        if (why.contains("the hard window ended")) {
            assertThat(now)
                    .as("epoch %s of %s, its hard window", it.epoch, key)
                    .isGreaterThanOrEqualTo(it.beganMin + hardMillis);
        }
    }

    /** Why an epoch ended: from the record of its closing, or from the ledger if it is flushed already. */
    private String evidence(String key, long epoch) {
        for (int shard = 0; shard < shards; shard++) {
            @Nullable String closing = jedis.hget(prefix(shard) + "closing", epoch + "=" + key);
            if (closing != null) {
                return closing;
            }
        }
        for (int shard = 0; shard < shards; shard++) {
            for (var entry : jedis.xrevrange(prefix(shard) + "ledger", "+", "-", 500)) {
                String all = entry.getFields().toString();
                boolean ofKey = entry.getFields().getOrDefault("i", "").endsWith(":" + key);
                if (ofKey && all.contains("epoch " + epoch)) {
                    return all;
                }
            }
        }
        return "no record of its end";
    }

    /** For a time in which instances poll, the server is trusted and nobody extends: nothing is open for too long. */
    void nothingIsLate(long nowMillis, long extendedMaxMillis) {
        open.forEach((key, it) -> assertThat(nowMillis)
                .as("epoch %s of %s is still open", it.epoch, key)
                .isLessThanOrEqualTo(Math.max(it.beganMax + hardMillis, extendedMaxMillis) + POLL.toMillis()));
    }

    private static String prefix(int shard) {
        return "hf:{aggregate:sim:" + shard + "}:";
    }
}
