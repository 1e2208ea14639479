package io.holdfast.app.doctor;

import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Progress;
import io.holdfast.redis.link.Keyspace;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.Reply;
import io.holdfast.redis.link.Script;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;

/** Calls a script that only reads, and takes its time. */
final class RedisProbe {

    private static final Script PROBE = Script.load(RedisProbe.class, "probe.lua", "probe", "", "seconds micros");
    private static final int WARM_UP = 20;
    private static final int CALLS = 100;

    private RedisProbe() {}

    static List<Check> probe(RedisLink link, Console console) {
        List<byte[]> keys = List.of(new Keyspace("doctor", "probe", 0).key("probe"));
        double[] millis = new double[CALLS];
        Duration ahead = Duration.ZERO;
        long shortest = Long.MAX_VALUE;
        try (Progress progress = console.progress("calling a script", CALLS)) {
            for (int i = -WARM_UP; i < CALLS; i++) {
                Instant before = Instant.now();
                long begin = System.nanoTime();
                Reply reply = link.call(PROBE, keys, List.of());
                long took = System.nanoTime() - begin;
                if (i < 0) {
                    continue;
                }
                millis[i] = took / 1e6;
                if (took < shortest) { // the shortest round trip says most about the clocks
                    shortest = took;
                    Instant there = Instant.ofEpochSecond(reply.number(0), reply.number(1) * 1_000);
                    ahead = Duration.between(before.plusNanos(took / 2), there);
                }
                progress.step(1);
            }
        }
        Arrays.sort(millis);
        return List.of(RedisChecks.clock(ahead), RedisChecks.latency(millis[CALLS / 2], millis[CALLS - 1]));
    }
}
