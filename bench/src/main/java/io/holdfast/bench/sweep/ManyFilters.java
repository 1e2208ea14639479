package io.holdfast.bench.sweep;

import io.holdfast.bench.Contest;
import io.holdfast.bench.Measurement;
import io.holdfast.bench.Meter;
import io.holdfast.bench.Row;
import io.holdfast.bench.Row.Direction;
import io.holdfast.bench.Run;
import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.filter.LiveFilter;
import java.util.SplittableRandom;

/**
 * The shape of a real fleet: 4,096 nodes with 350,000 pieces each, 0.9 GB of filters, batches of 4,096 ids for a node
 * drawn at random. Beside it the memory's limit for the same pattern: the same number of half cache lines at random
 * places of the same small windows, read and written with no hashing and no bits.
 */
final class ManyFilters {

    private static final int PIECES = 350_000;
    private static final int BATCH = 4096;

    private final Run run;
    private final int nodes;
    private final int batches;
    private final FilterGeometry geometry = FilterGeometry.forRate(PIECES, 0.1);
    private final long[] fingerprints = new long[2 * BATCH * 64];

    ManyFilters(Run run) {
        this.run = run;
        this.nodes = run.size(4096, 512);
        this.batches = run.size(12_000, 3_000);
        SplittableRandom random = new SplittableRandom(3);
        for (int i = 0; i < fingerprints.length; i++) {
            fingerprints[i] = random.nextLong();
        }
    }

    void measure() throws Exception {
        run.note(nodes + " filters, " + geometry.bytes() * nodes / 1_000_000 + " MB");
        Contest.Results results = new Contest()
                .add("filters", new Filters()::measure)
                .add("memory", new Memory()::measure)
                .run(3);
        double inserted = 1 / results.median("filters", Measurement::clientMicros);
        double limit = 1 / results.median("memory", Measurement::clientMicros);
        run.row(Row.reported("insert, batches per node, 0.9 GB of filters", "M/CPU-s", Direction.HIGHER, inserted)
                .goal(25));
        run.row(Row.compared(
                "the same beside the memory's limit", "M/CPU-s", Direction.HIGHER, inserted, limit, "memory"));
    }

    private final class Filters {
        private final LiveFilter[] filters = new LiveFilter[nodes];
        private final SplittableRandom random = new SplittableRandom(5);

        Filters() {
            for (int i = 0; i < nodes; i++) {
                filters[i] = LiveFilter.empty(geometry, 9);
            }
        }

        Measurement measure() {
            long begin = Meter.threadCpuNanos();
            for (int i = 0; i < batches; i++) {
                int from = random.nextInt(64) * 2 * BATCH;
                filters[random.nextInt(nodes)].addAll(fingerprints, from, from + 2 * BATCH);
            }
            return measurement(begin);
        }
    }

    private final class Memory {
        private final long[][] windows = new long[nodes][(int) (geometry.bytes() / Long.BYTES)];
        private final SplittableRandom random = new SplittableRandom(5);

        Measurement measure() {
            long begin = Meter.threadCpuNanos();
            for (int i = 0; i < batches; i++) {
                long[] window = windows[random.nextInt(nodes)];
                int blocks = window.length / 4;
                int from = random.nextInt(64) * 2 * BATCH;
                for (int j = from; j < from + 2 * BATCH; j += 2) {
                    long word = fingerprints[j];
                    int at = (int) Math.unsignedMultiplyHigh(word, blocks) * 4;
                    window[at] |= word;
                    window[at + 1] |= word;
                    window[at + 2] |= word;
                    window[at + 3] |= word;
                }
            }
            return measurement(begin);
        }
    }

    private Measurement measurement(long begin) {
        long nanos = Meter.threadCpuNanos() - begin;
        return new Measurement((long) batches * BATCH, nanos, 0, nanos);
    }
}
