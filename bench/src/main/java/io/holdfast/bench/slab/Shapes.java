package io.holdfast.bench.slab;

import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.function.IntUnaryOperator;

/**
 * Made-up traces, one for each shape of load that spoils some cache. All are sized for a cache of 16 MiB, which holds a
 * third to a tenth of their objects, but for the loop.
 */
final class Shapes {

    private static final int OBJECTS = 30_000;

    private Shapes() {}

    static List<Trace> all(int requests) {
        return List.of(
                drift(requests),
                scans(requests),
                loop(requests),
                uniform(requests),
                correlated("small is popular", requests, true),
                correlated("large is popular", requests, false),
                shifting(requests));
    }

    /** Popularity by Zipf's law that drifts, log-normal sizes, a scan now and then. */
    static Trace drift(int requests) {
        Workload popularity = new Workload(100_000, 11);
        return trace(
                "drift",
                requests,
                i -> i % 60_000 < 6_000 ? 1_000_000 + i : (popularity.next() + i / 100_000 * 37_000) % 100_000,
                Shapes::logNormal);
    }

    /** Half of the requests are for objects that come once. */
    private static Trace scans(int requests) {
        Workload popularity = new Workload(OBJECTS, 12);
        return trace(
                "scans", requests, i -> i % 40_000 < 20_000 ? popularity.next() : 1_000_000 + i, Shapes::logNormal);
    }

    /** The same objects in the same order, half as many again as fit, beside skewed reads. */
    private static Trace loop(int requests) {
        Workload popularity = new Workload(OBJECTS, 13);
        return trace("loop", requests, i -> i % 4 == 0 ? popularity.next() : 1_000_000 + i % 12_000, key -> 2_048);
    }

    private static Trace uniform(int requests) {
        SplittableRandom random = new SplittableRandom(14);
        return trace("uniform", requests, i -> random.nextInt(OBJECTS), Shapes::logNormal);
    }

    /** Sizes go with popularity, one way or the other. */
    private static Trace correlated(String name, int requests, boolean smallIsPopular) {
        Workload popularity = new Workload(OBJECTS, 15);
        return trace(name, requests, i -> popularity.next(), key -> {
            int rank = smallIsPopular ? key : OBJECTS - 1 - key;
            return 64 + (int) (8_192L * rank / OBJECTS);
        });
    }

    /** The sizes of all objects change four times. */
    private static Trace shifting(int requests) {
        Workload popularity = new Workload(OBJECTS, 16);
        int[] phases = {300, 1_500, 150, 4_000};
        int phase = Math.max(1, requests / phases.length);
        return trace("shifting sizes", requests, i -> popularity.next() + i / phase * 1_000_000, key -> {
            int around = phases[Math.min(key / 1_000_000, phases.length - 1)];
            return around + new Random(key * 31L).nextInt(around);
        });
    }

    private static int logNormal(int key) {
        double normal = new Random(key * 31L).nextGaussian();
        return (int) Math.clamp(Math.exp(7.8 + 1.5 * normal), 20, 400_000);
    }

    private static Trace trace(String name, int requests, IntUnaryOperator key, IntUnaryOperator size) {
        int[] keys = new int[requests];
        int[] sizes = new int[requests];
        for (int i = 0; i < requests; i++) {
            keys[i] = key.applyAsInt(i);
            sizes[i] = size.applyAsInt(keys[i]);
        }
        return new Trace(name, keys, sizes);
    }
}
