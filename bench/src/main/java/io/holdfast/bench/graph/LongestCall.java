package io.holdfast.bench.graph;

import io.holdfast.testkit.RedisServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.resps.Slowlog;

/**
 * Finds the script call, or the plain call of a yardstick, that kept a server longest, by the server's slow log.
 *
 * <p>The slow log runs on the wall clock, and on a machine that does other work it also counts the time in which the
 * server stood in the queue for a core, or its whole machine did. Linux tells how long a thread waited and how long it
 * worked ({@code /proc/PID/schedstat}), so of each watched action counts what the slow log says less the waiting, and no
 * more than the work. Where there is no such file the slow log counts as it is.
 */
final class LongestCall implements AutoCloseable {

    /** Nothing below this is looked at. */
    private static final long FLOOR_MICROS = 200;

    private static final Set<String> WATCHED = Set.of("EVALSHA", "HSET", "HDEL");

    private final Jedis redis;
    private final Path schedule;
    private long longestMicros = FLOOR_MICROS;
    private long longestByTheWallMicros = FLOOR_MICROS;
    private final List<Long> byTheWallMicros = new ArrayList<>();

    LongestCall(RedisServer server) {
        this.redis = server.client();
        this.schedule = Path.of("/proc/" + server.pid() + "/task/" + server.pid() + "/schedstat");
        redis.configSet("slowlog-log-slower-than", String.valueOf(FLOOR_MICROS));
        redis.configSet("slowlog-max-len", "64");
        redis.slowlogReset();
    }

    /** Something that makes one call, or a few. */
    interface Action {
        void run();
    }

    /** Answers what the slow log says that its longest call took, in milliseconds; 0 if nothing took long enough to be looked at. */
    double watch(Action action) {
        Schedule before = schedule();
        long begin = System.nanoTime();
        action.run();
        long wall = System.nanoTime() - begin;
        return wall > TimeUnit.MICROSECONDS.toNanos(FLOOR_MICROS) ? look(before) / 1e3 : 0;
    }

    private long look(Schedule before) {
        long slowest = 0;
        for (Slowlog entry : redis.slowlogGet(64)) {
            if (WATCHED.contains(entry.getArgs().getFirst().toUpperCase(Locale.ROOT))) {
                slowest = Math.max(slowest, entry.getExecutionTime());
            }
        }
        redis.slowlogReset();
        longestByTheWallMicros = Math.max(longestByTheWallMicros, slowest);
        byTheWallMicros.add(slowest);
        if (slowest > longestMicros) {
            // The kernel adds up the work of a thread when it goes to sleep.
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(3));
            Schedule after = schedule();
            long waited = TimeUnit.NANOSECONDS.toMicros(after.waitedNanos() - before.waitedNanos());
            long worked = TimeUnit.NANOSECONDS.toMicros(after.workedNanos() - before.workedNanos());
            longestMicros = Math.max(longestMicros, Math.min(slowest - waited, worked));
        }
        return slowest;
    }

    private record Schedule(long workedNanos, long waitedNanos) {}

    private Schedule schedule() {
        try {
            if (!Files.exists(schedule)) {
                return new Schedule(System.nanoTime(), 0);
            }
            String[] fields = Files.readString(schedule).split(" ");
            return new Schedule(Long.parseLong(fields[0]), Long.parseLong(fields[1]));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Forgets what was seen so far. */
    void reset() {
        longestMicros = FLOOR_MICROS;
        longestByTheWallMicros = FLOOR_MICROS;
        byTheWallMicros.clear();
        redis.slowlogReset();
    }

    /** Of the calls since the last reset, without waiting for a core. */
    double longestMillis() {
        return longestMicros / 1e3;
    }

    double longestByTheWallMillis() {
        return longestByTheWallMicros / 1e3;
    }

    /** Of the calls that were looked at, as the slow log has them, the longest but for one in a thousand. */
    double longestOfMostMillis() {
        Collections.sort(byTheWallMicros);
        int most = byTheWallMicros.size() - byTheWallMicros.size() / 1_000;
        return most == 0 ? FLOOR_MICROS / 1e3 : byTheWallMicros.get(most - 1) / 1e3;
    }

    @Override
    public void close() {
        redis.configSet("slowlog-log-slower-than", "-1");
        redis.close();
    }
}
