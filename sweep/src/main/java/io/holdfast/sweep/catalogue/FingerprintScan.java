package io.holdfast.sweep.catalogue;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.catalogue.Catalogue.PieceSink;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.piece.NodeId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads a snapshot and hands the fingerprints of its pieces over, node by node in batches.
 *
 * <p>The ranges are read side by side. Each scanner makes the fingerprint of an id itself and gathers fingerprints per
 * node, so that whoever takes them has a whole batch of one node at a time. The memory for batches is a setting,
 * whatever the number of nodes: with more of them each batch is smaller.
 */
public final class FingerprintScan {

    private static final int BATCH_LEAST = 16;
    private static final int BATCH_MOST = 4096;
    private static final int REPORT_EVERY = 1 << 16;

    /** Takes the fingerprints of one node, possibly from several scanners at once. */
    public interface Target {

        /** How long ids on this node are. */
        int idBytes();

        /** Takes fingerprints from {@code batch[0]} to {@code batch[to - 1]}, two longs each; the array stays the caller's. */
        void take(long[] batch, int to) throws Exception;
    }

    /** What was seen: rows per node, of all nodes, and the newest creation time. */
    public record Seen(Map<NodeId, Long> rows, long newestMillis) {

        /** Throws CORRUPT unless the rows of these nodes are exactly what was counted. */
        public void compare(Map<NodeId, Long> counts, @Nullable Set<NodeId> only) {
            Map<NodeId, Long> all = new TreeMap<>(counts);
            rows.forEach(all::putIfAbsent);
            for (NodeId node : all.keySet()) {
                long counted = counts.getOrDefault(node, 0L);
                long scanned = rows.getOrDefault(node, 0L);
                if (counted != scanned && (only == null || only.contains(node))) {
                    throw new HoldfastException(
                            Category.CORRUPT,
                            "the catalogue counts " + counted + " pieces on node " + node + " and its scan gave "
                                    + scanned,
                            "the cycle was aborted and nothing was trashed; check the catalogue's snapshot",
                            null);
                }
            }
        }
    }

    private final Catalogue.Snapshot snapshot;
    private final Map<NodeId, ? extends Target> targets;
    private final long bufferMemory;
    private final ScanThreads threads;
    private final List<ScanObserver> observers;
    private final LongConsumer rowsDone;

    /** @param rowsDone told now and then how many rows were read so far */
    public FingerprintScan(
            Catalogue.Snapshot snapshot,
            Map<NodeId, ? extends Target> targets,
            long bufferMemory,
            ScanThreads threads,
            List<ScanObserver> observers,
            LongConsumer rowsDone) {
        this.snapshot = snapshot;
        this.targets = targets;
        this.bufferMemory = bufferMemory;
        this.threads = threads;
        this.observers = observers;
        this.rowsDone = rowsDone;
    }

    /** What the catalogue counts, or a scan that only counts; the view is frozen, so both are exact. */
    public static Map<NodeId, Long> counts(Catalogue.Snapshot snapshot, ScanThreads threads, LongConsumer rowsDone)
            throws Exception {
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
                        rowsDone.accept(done.get());
                    }
                });
                return part;
            });
        }
        for (Map<NodeId, Long> part : threads.all(tasks)) {
            part.forEach((node, count) -> counts.merge(node, count, Long::sum));
        }
        return counts;
    }

    /** Reads everything. */
    public Seen run() throws Exception {
        return run(null);
    }

    /** Reads the pieces of some nodes again, and no others. */
    public Seen run(@Nullable Set<NodeId> only) throws Exception {
        int atOnce = Math.min(threads.count(), snapshot.ranges());
        long lanes = Math.max(1, (long) targets.size() * atOnce);
        int batch = Math.clamp(bufferMemory / (lanes * 2 * Long.BYTES), BATCH_LEAST, BATCH_MOST);
        AtomicLong done = new AtomicLong();
        List<Callable<Range>> tasks = new ArrayList<>();
        for (int number = 0; number < snapshot.ranges(); number++) {
            int range = number;
            tasks.add(() -> {
                List<PieceSink> riders =
                        observers.stream().map(o -> o.range(range)).toList();
                Range sink = new Range(targets, batch, riders, rows -> rowsDone.accept(done.addAndGet(rows)));
                if (only == null) {
                    snapshot.scan(range, sink);
                } else {
                    snapshot.scan(range, only, sink);
                }
                sink.finish();
                return sink;
            });
        }
        Map<NodeId, Long> rows = new HashMap<>();
        long newest = Long.MIN_VALUE;
        for (Range range : threads.all(tasks)) {
            range.lanes.forEach((node, lane) -> rows.merge(node, lane.rows, Long::sum));
            newest = Math.max(newest, range.newest);
        }
        return new Seen(rows, newest);
    }

    /** The pieces of one node within one range. */
    private static final class Lane {
        private final @Nullable Target target;
        private final int idBytes;
        private final long[] batch;
        private int used;
        private long rows;

        Lane(@Nullable Target target, int size) {
            this.target = target;
            this.idBytes = target == null ? 0 : target.idBytes();
            this.batch = target == null ? new long[0] : new long[2 * size];
        }
    }

    /** Takes the pieces of one range, on one thread. */
    private static final class Range implements PieceSink {
        private final Map<NodeId, ? extends Target> targets;
        private final int batch;
        private final List<PieceSink> riders;
        private final LongConsumer rowsDone;
        private final Map<NodeId, Lane> lanes = new HashMap<>();
        private long newest = Long.MIN_VALUE;
        private int sinceReport;
        private @Nullable NodeId lastNode;
        private @Nullable Lane lastLane;

        Range(Map<NodeId, ? extends Target> targets, int batch, List<PieceSink> riders, LongConsumer rowsDone) {
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
                if (id.length != lane.idBytes) {
                    throw wrongLength(node, id.length, lane.idBytes);
                }
                Fingerprint.put(id, 0, id.length, lane.batch, lane.used);
                lane.used += 2;
                if (lane.used == lane.batch.length) {
                    target.take(lane.batch, lane.used);
                    lane.used = 0;
                }
            }
            for (PieceSink rider : riders) {
                rider.piece(node, id, createdMillis);
            }
            if (++sinceReport == REPORT_EVERY) {
                rowsDone.accept(sinceReport);
                sinceReport = 0;
            }
        }

        private Lane lane(NodeId node) {
            Lane last = lastLane;
            if (last != null && node.equals(lastNode)) {
                return last;
            }
            Lane lane = lanes.get(node);
            if (lane == null) {
                lane = new Lane(targets.get(node), batch);
                lanes.put(node, lane);
            }
            lastNode = node;
            lastLane = lane;
            return lane;
        }

        void finish() throws Exception {
            for (Lane lane : lanes.values()) {
                if (lane.target != null && lane.used > 0) {
                    lane.target.take(lane.batch, lane.used);
                    lane.used = 0;
                }
            }
            rowsDone.accept(sinceReport);
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
