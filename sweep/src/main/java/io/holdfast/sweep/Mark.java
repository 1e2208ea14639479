package io.holdfast.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.Catalogue.PieceSink;
import io.holdfast.sweep.catalogue.ScanObserver;
import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.filter.LiveFilter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Builds the live filters of a cycle from one snapshot.
 *
 * <p>Scanners read the ranges side by side. Each makes the fingerprint of an id itself and gathers fingerprints per
 * node; a full batch goes to the node's filter in one turn, so that the filter is in the cache while it is worked on.
 * The memory is known before anything is allocated: filters from the counts, batches from a setting.
 *
 * <p>At the end, the rows of every node (also of those that are not swept) must be what the same snapshot counted. One
 * row more or less, any exception, a lost snapshot: no filter leaves this class.
 */
final class Mark {

    private static final int BATCH_LEAST = 16;
    private static final int BATCH_MOST = 4096;
    private static final int REPORT_EVERY = 1 << 16;

    /** The filter of one node, with what went into it. */
    record Marked(LiveFilter filter, long rows, long distinctLeast) {}

    /** Everything that a complete scan yields. */
    record Result(Map<NodeId, Marked> filters, Instant cutoff, long rows, long rowsElsewhere) {}

    /** The filter under construction, one batch at a time. */
    private static final class Target {
        private final ReentrantLock turn = new ReentrantLock();
        private final LiveFilter filter;
        private final int idBytes;
        private long fresh;

        Target(LiveFilter filter, int idBytes) {
            this.filter = filter;
            this.idBytes = idBytes;
        }

        void add(long[] fingerprints, int to) {
            turn.lock();
            try {
                fresh += filter.addAll(fingerprints, 0, to);
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
    private final Workers workers;
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
            Workers workers,
            List<ScanObserver> observers,
            SweepProgress progress) {
        this.snapshot = snapshot;
        this.owner = owner;
        this.idBytes = idBytes;
        this.rate = rate;
        this.seed = seed;
        this.filterMemory = filterMemory;
        this.bufferMemory = bufferMemory;
        this.workers = workers;
        this.observers = observers;
        this.progress = progress;
    }

    Result run() throws Exception {
        try {
            Map<NodeId, Long> counts = counts();
            Map<NodeId, Target> targets = targets(counts);
            List<Range> ranges = scan(
                    targets, counts.values().stream().mapToLong(Long::longValue).sum());
            Map<NodeId, Long> seen = new HashMap<>();
            long newest = Long.MIN_VALUE;
            for (Range range : ranges) {
                range.lanes.forEach((node, lane) -> seen.merge(node, lane.rows, Long::sum));
                newest = Math.max(newest, range.newest);
            }
            compare(counts, seen);
            snapshot.check();
            observers.forEach(ScanObserver::complete);
            return result(targets, seen, newest);
        } catch (Exception | Error e) {
            observers.forEach(observer -> observer.aborted(e));
            throw e;
        }
    }

    /** What the catalogue counts, or a scan that only counts; the view is frozen, so both are exact. */
    private Map<NodeId, Long> counts() throws Exception {
        var told = snapshot.counts();
        if (told.isPresent()) {
            return told.get();
        }
        Map<NodeId, Long> counts = new HashMap<>();
        AtomicLong done = new AtomicLong();
        List<Callable<Map<NodeId, Long>>> tasks = new ArrayList<>();
        for (int range = 0; range < snapshot.ranges(); range++) {
            int number = range;
            tasks.add(() -> {
                Map<NodeId, Long> part = new HashMap<>();
                snapshot.scan(number, (node, id, created) -> {
                    part.merge(node, 1L, Long::sum);
                    if ((done.incrementAndGet() & (REPORT_EVERY - 1)) == 0) {
                        progress.progress(SweepProgress.Phase.COUNT, owner.name(), done.get(), 0);
                    }
                });
                return part;
            });
        }
        for (Map<NodeId, Long> part : workers.all(tasks)) {
            part.forEach((node, count) -> counts.merge(node, count, Long::sum));
        }
        return counts;
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
                targets.put(node, new Target(LiveFilter.empty(geometry, seed), idBytes.getOrDefault(node, 0))));
        return targets;
    }

    private List<Range> scan(Map<NodeId, Target> targets, long total) throws Exception {
        int atOnce = Math.min(workers.count(), snapshot.ranges());
        long lanes = Math.max(1, (long) targets.size() * atOnce);
        int batch = Math.clamp(bufferMemory / (lanes * 2 * Long.BYTES), BATCH_LEAST, BATCH_MOST);
        AtomicLong done = new AtomicLong();
        List<Callable<Range>> tasks = new ArrayList<>();
        for (int number = 0; number < snapshot.ranges(); number++) {
            int range = number;
            tasks.add(() -> {
                List<PieceSink> riders =
                        observers.stream().map(o -> o.range(range)).toList();
                Range sink = new Range(targets, batch, riders, rows -> {
                    long sum = done.addAndGet(rows);
                    progress.progress(SweepProgress.Phase.SCAN, owner.name(), sum, total);
                });
                snapshot.scan(range, sink);
                sink.finish();
                return sink;
            });
        }
        return workers.all(tasks);
    }

    private static void compare(Map<NodeId, Long> counts, Map<NodeId, Long> seen) {
        Map<NodeId, Long> all = new TreeMap<>(counts);
        seen.forEach(all::putIfAbsent);
        for (NodeId node : all.keySet()) {
            long counted = counts.getOrDefault(node, 0L);
            long scanned = seen.getOrDefault(node, 0L);
            if (counted != scanned) {
                throw new HoldfastException(
                        Category.CORRUPT,
                        "the catalogue counts " + counted + " pieces on node " + node + " and its scan gave " + scanned,
                        "the cycle was aborted and nothing was trashed; check the catalogue's snapshot",
                        null);
            }
        }
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
        // A catalogue without a single piece vouches for no moment in time: nothing is old enough to be judged by it.
        Instant newestSeen = newest == Long.MIN_VALUE ? Instant.EPOCH : Instant.ofEpochMilli(newest);
        Instant cutoff = newestSeen.isBefore(snapshot.takenAt()) ? newestSeen : snapshot.takenAt();
        return new Result(filters, cutoff, rows, all - rows);
    }

    /** The pieces of one node within one range. */
    private static final class Lane {
        private final @Nullable Target target;
        private final long[] batch;
        private int used;
        private long rows;

        Lane(@Nullable Target target, int size) {
            this.target = target;
            this.batch = target == null ? new long[0] : new long[2 * size];
        }
    }

    @FunctionalInterface
    private interface RowsDone {
        void add(long rows);
    }

    /** Takes the pieces of one range, on one thread. */
    private static final class Range implements PieceSink {
        private final Map<NodeId, Target> targets;
        private final int batch;
        private final List<PieceSink> riders;
        private final RowsDone rowsDone;
        private final Map<NodeId, Lane> lanes = new HashMap<>();
        private long newest = Long.MIN_VALUE;
        private int sinceReport;
        private @Nullable NodeId lastNode;
        private @Nullable Lane lastLane;

        Range(Map<NodeId, Target> targets, int batch, List<PieceSink> riders, RowsDone rowsDone) {
            this.targets = targets;
            this.batch = batch;
            this.riders = riders;
            this.rowsDone = rowsDone;
        }

        @Override
        public void piece(NodeId node, byte[] id, long createdMillis) throws Exception {
            Lane lane = lane(node);
            lane.rows++;
            newest = Math.max(newest, createdMillis);
            Target target = lane.target;
            if (target != null) {
                if (id.length != target.idBytes) {
                    throw wrongLength(node, id.length, target.idBytes);
                }
                Fingerprint.put(id, 0, id.length, lane.batch, lane.used);
                lane.used += 2;
                if (lane.used == lane.batch.length) {
                    target.add(lane.batch, lane.used);
                    lane.used = 0;
                }
            }
            for (PieceSink rider : riders) {
                rider.piece(node, id, createdMillis);
            }
            if (++sinceReport == REPORT_EVERY) {
                rowsDone.add(sinceReport);
                sinceReport = 0;
            }
        }

        private Lane lane(NodeId node) {
            Lane last = lastLane;
            if (last != null && node.equals(lastNode)) {
                return last;
            }
            Lane lane = lanes.computeIfAbsent(node, n -> new Lane(targets.get(n), batch));
            lastNode = node;
            lastLane = lane;
            return lane;
        }

        void finish() {
            for (Lane lane : lanes.values()) {
                if (lane.target != null && lane.used > 0) {
                    lane.target.add(lane.batch, lane.used);
                    lane.used = 0;
                }
            }
            rowsDone.add(sinceReport);
        }

        private static HoldfastException wrongLength(NodeId node, int given, int wanted) {
            return new HoldfastException(
                    Category.CORRUPT,
                    "the catalogue has an id of " + given + " bytes for node " + node + ", which keeps ids of " + wanted
                            + " bytes",
                    "name the form of the catalogue's ids; nothing was trashed",
                    null);
        }
    }
}
