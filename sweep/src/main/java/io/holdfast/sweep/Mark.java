package io.holdfast.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.FingerprintScan;
import io.holdfast.sweep.catalogue.ScanObserver;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.cycle.Cutoff;
import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Builds the live filters of a cycle from one snapshot.
 *
 * <p>A batch of fingerprints goes to its node's filter in one turn, so that the filter is in the cache while it is
 * worked on. The memory is known before anything is allocated: filters from the counts, batches from a setting.
 *
 * <p>At the end, the rows of every node (also of those that are not swept) must be what the same snapshot counted. One
 * row more or less, any exception, a lost snapshot: no filter leaves this class.
 */
final class Mark {

    /** The filter of one node, with what went into it. */
    record Marked(LiveFilter filter, long rows, long distinctLeast) {}

    /** Everything that a complete scan yields. */
    record Result(Map<NodeId, Marked> filters, Instant cutoff, long rows, long rowsElsewhere) {}

    /** The filter under construction, one batch at a time. */
    private static final class Target implements FingerprintScan.Target {
        private final ReentrantLock turn = new ReentrantLock();
        private final NodeId node;
        private final LiveFilter filter;
        private final int idBytes;
        private long fresh;

        Target(NodeId node, LiveFilter filter, int idBytes) {
            this.node = node;
            this.filter = filter;
            this.idBytes = idBytes;
        }

        @Override
        public int idBytes() {
            return idBytes;
        }

        @Override
        public void wrongLength(int given) {
            throw FingerprintScan.wrongLength(node, given, idBytes);
        }

        @Override
        public void take(long[] batch, int to) {
            turn.lock();
            try {
                fresh += filter.addAll(batch, 0, to);
            } finally {
                turn.unlock();
            }
        }
    }

    private final Catalogue.Snapshot snapshot;
    private final OwnerId owner;
    private final Map<NodeId, Integer> idBytes;
    private final double rate;
    private final long seed;
    private final long filterMemory;
    private final long bufferMemory;
    private final ScanThreads threads;
    private final List<ScanObserver> observers;
    private final SweepProgress progress;

    Mark(
            Catalogue.Snapshot snapshot,
            OwnerId owner,
            Map<NodeId, Integer> idBytes,
            double rate,
            long seed,
            long filterMemory,
            long bufferMemory,
            ScanThreads threads,
            List<ScanObserver> observers,
            SweepProgress progress) {
        this.snapshot = snapshot;
        this.owner = owner;
        this.idBytes = idBytes;
        this.rate = rate;
        this.seed = seed;
        this.filterMemory = filterMemory;
        this.bufferMemory = bufferMemory;
        this.threads = threads;
        this.observers = observers;
        this.progress = progress;
    }

    Result run() throws Exception {
        try {
            Map<NodeId, Long> counts = FingerprintScan.counts(
                    snapshot, threads, done -> progress.progress(SweepProgress.Phase.COUNT, owner.name(), done, 0));
            Map<NodeId, Target> targets = targets(counts);
            long total = counts.values().stream().mapToLong(Long::longValue).sum();
            FingerprintScan.Seen seen = new FingerprintScan(
                            snapshot,
                            targets,
                            bufferMemory,
                            threads,
                            observers,
                            done -> progress.progress(SweepProgress.Phase.SCAN, owner.name(), done, total))
                    .run();
            seen.compare(counts, null);
            snapshot.check();
            observers.forEach(ScanObserver::complete);
            return result(targets, seen.rows(), seen.newestMillis());
        } catch (Exception | Error e) {
            observers.forEach(observer -> observer.aborted(e));
            throw e;
        }
    }

    private Map<NodeId, Target> targets(Map<NodeId, Long> counts) {
        Map<NodeId, FilterGeometry> geometries = new TreeMap<>();
        long bytes = 0;
        for (NodeId node : idBytes.keySet()) {
            FilterGeometry geometry = FilterGeometry.forRate(counts.getOrDefault(node, 0L), rate);
            geometries.put(node, geometry);
            bytes += geometry.bytes();
        }
        if (bytes > filterMemory) {
            throw HoldfastException.misuse(
                    "the filters of " + geometries.size() + " nodes need " + bytes + " bytes; allowed are "
                            + filterMemory,
                    "set sweep.filter-memory to at least " + ((bytes >> 20) + 1) + "MiB, or sweep fewer nodes at once");
        }
        Map<NodeId, Target> targets = new HashMap<>();
        geometries.forEach((node, geometry) ->
                targets.put(node, new Target(node, LiveFilter.empty(geometry, seed), idBytes.getOrDefault(node, 0))));
        return targets;
    }

    private Result result(Map<NodeId, Target> targets, Map<NodeId, Long> seen, long newest) {
        Map<NodeId, Marked> filters = new TreeMap<>();
        long rows = 0;
        for (Map.Entry<NodeId, Target> entry : targets.entrySet()) {
            long here = seen.getOrDefault(entry.getKey(), 0L);
            rows += here;
            Target target = entry.getValue();
            filters.put(entry.getKey(), new Marked(target.filter, here, target.fresh));
        }
        long all = seen.values().stream().mapToLong(Long::longValue).sum();
        Instant cutoff = Cutoff.of(snapshot.takenAt(), newest);
        return new Result(filters, cutoff, rows, all - rows);
    }
}
