package io.holdfast.bench.sweep;

import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import io.holdfast.bench.Contest;
import io.holdfast.bench.Measurement;
import io.holdfast.bench.Meter;
import io.holdfast.bench.Row;
import io.holdfast.bench.Row.Direction;
import io.holdfast.bench.Run;
import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.filter.LiveFilter;
import java.util.SplittableRandom;

/**
 * Inserting random 32-byte ids into one filter, in CPU time of one thread. Guava hashes the bytes as it inserts; the live
 * filter is measured both ways: with fingerprints at hand, as a worker has them, and with the hashing included.
 */
final class FilterInserts {

    private static final int ID_BYTES = 32;
    private static final int BATCH = 4096;
    private static final double TEN_PERCENT = 0.1;
    private static final double ONE_PERCENT = 0.01;

    private final Run run;
    private final int count;
    private final byte[] ids;
    private final long[] fingerprints;

    FilterInserts(Run run) {
        this.run = run;
        this.count = run.size(10_000_000, 1_000_000);
        this.ids = new byte[count * ID_BYTES];
        new SplittableRandom(1).nextBytes(ids);
        this.fingerprints = new long[2 * count];
        for (int i = 0; i < count; i++) {
            Fingerprint.put(ids, i * ID_BYTES, ID_BYTES, fingerprints, 2 * i);
        }
    }

    void measure() throws Exception {
        for (double rate : new double[] {TEN_PERCENT, ONE_PERCENT}) {
            String at = Math.round(rate * 100) + " %";
            run.note("inserting " + count + " ids at " + at);
            Contest.Results results = new Contest()
                    .add("ready", () -> ready(rate))
                    .add("hashed", () -> hashed(rate))
                    .add("guava", () -> guava(rate))
                    .run(run.size(5, 3));
            double guava = perCpuSecond(results, "guava");
            run.row(Row.compared(
                            "insert, ready fingerprints, " + at,
                            "M/CPU-s",
                            Direction.HIGHER,
                            perCpuSecond(results, "ready"),
                            guava,
                            "Guava")
                    .goal(12));
            run.row(Row.compared(
                            "insert, 32-byte ids hashed, " + at,
                            "M/CPU-s",
                            Direction.HIGHER,
                            perCpuSecond(results, "hashed"),
                            guava,
                            "Guava")
                    .goal(8));
        }
        size();
    }

    private static double perCpuSecond(Contest.Results results, String contender) {
        return 1 / results.median(contender, Measurement::clientMicros);
    }

    private Measurement ready(double rate) {
        LiveFilter filter = LiveFilter.empty(FilterGeometry.forRate(count, rate), 7);
        return timed(() -> {
            for (int from = 0; from < fingerprints.length; from += 2 * BATCH) {
                filter.addAll(fingerprints, from, Math.min(fingerprints.length, from + 2 * BATCH));
            }
        });
    }

    private Measurement hashed(double rate) {
        LiveFilter filter = LiveFilter.empty(FilterGeometry.forRate(count, rate), 7);
        long[] batch = new long[2 * BATCH];
        return timed(() -> {
            int used = 0;
            for (int i = 0; i < count; i++) {
                Fingerprint.put(ids, i * ID_BYTES, ID_BYTES, batch, used);
                used += 2;
                if (used == batch.length) {
                    filter.addAll(batch, 0, used);
                    used = 0;
                }
            }
            filter.addAll(batch, 0, used);
        });
    }

    private Measurement guava(double rate) {
        BloomFilter<byte[]> filter = BloomFilter.create(Funnels.byteArrayFunnel(), count, rate);
        byte[][] batch = new byte[BATCH][ID_BYTES];
        long nanos = 0;
        for (int from = 0; from < count; from += BATCH) {
            int size = Math.min(BATCH, count - from);
            for (int i = 0; i < size; i++) {
                System.arraycopy(ids, (from + i) * ID_BYTES, batch[i], 0, ID_BYTES);
            }
            long begin = Meter.threadCpuNanos();
            for (int i = 0; i < size; i++) {
                filter.put(batch[i]);
            }
            nanos += Meter.threadCpuNanos() - begin;
        }
        return new Measurement(count, nanos, 0, nanos);
    }

    private Measurement timed(Runnable work) {
        long begin = Meter.threadCpuNanos();
        work.run();
        long nanos = Meter.threadCpuNanos() - begin;
        return new Measurement(count, nanos, 0, nanos);
    }

    private void size() {
        FilterGeometry geometry = FilterGeometry.forRate(count, TEN_PERCENT);
        LiveFilter filter = LiveFilter.empty(geometry, 11);
        filter.addAll(fingerprints, 0, fingerprints.length);
        SplittableRandom random = new SplittableRandom(99);
        int asked = 4_000_000;
        int passed = 0;
        for (int i = 0; i < asked; i++) {
            passed += filter.mayContain(random.nextLong(), random.nextLong()) ? 1 : 0;
        }
        run.row(Row.reported("size at 10 %", "bits/id", Direction.LOWER, geometry.bytes() * 8.0 / count)
                .goal(5.3));
        run.row(Row.reported("false positives measured at 10 %", "share", Direction.LOWER, passed / (double) asked)
                .goal(TEN_PERCENT));
        run.row(Row.compared(
                "false positives beside the formula",
                "share",
                Direction.LOWER,
                passed / (double) asked,
                geometry.expectedRate(count),
                "formula"));
    }
}
