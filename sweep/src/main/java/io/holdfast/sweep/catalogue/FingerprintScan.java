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
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads a snapshot and hands the fingerprints of its pieces over, node by node in batches.
 *
 * <p>The ranges are read side by side. Each scanner makes the fingerprint of an id itself and gathers fingerprints per
 * node, so that whoever takes them has a whole batch of one node at a time. The memory for batches is a setting,
 * whatever the number of nodes, ranges and threads: with more nodes each batch is smaller, ranges that follow each other
 * use the same batches, and where batches would become too small there are fewer scanners.
 */
public final class FingerprintScan {

    private static final int BATCH_LEAST = 16;
    private static final int BATCH_MOST = 4096;
    private static final int FINGERPRINT_BYTES = 2 * Long.BYTES;
    private static final int REPORT_EVERY = 1 << 16;

    /** The clocks of those who write rows may be so far ahead of the catalogue's. */
    private static final long DATED_AHEAD_MILLIS = 10 * 60 * 1000;

    /** Takes the fingerprints of one node, possibly from several scanners at once. */
    public interface Target {

        /** How long ids on this node are. */
        int idBytes();

        /** Takes fingerprints from {@code batch[0]} to {@code batch[to - 1]}, two longs each; the array stays the caller's. */
        void take(long[] batch, int to) throws Exception;

        /** The catalogue has an id of another length for this node. Throws, unless the rest may go on without the node. */
        void wrongLength(int given);
    }

    /**
     * What was seen.
     *
     * @param rows per node, of all nodes
     * @param newestMillis the newest creation time, without rows that are dated well after the snapshot
     * @param rowsAfterSnapshot how many those are
     */
    public record Seen(Map<NodeId, Long> rows, long newestMillis, long rowsAfterSnapshot) {

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
        int atOnce = Math.min(Math.min(threads.count(), snapshot.ranges()), scannersThatFit());
        long lanes = (long) Math.max(1, targets.size()) * atOnce;
        int batch = (int) Math.min(BATCH_MOST, bufferMemory / (lanes * FINGERPRINT_BYTES));
        AtomicLong done = new AtomicLong();
        List<Scanner> scanners = new ArrayList<>();
        for (int i = 0; i < atOnce; i++) {
            scanners.add(new Scanner(
                    targets, batch, snapshot.takenAt().toEpochMilli(), rows -> rowsDone.accept(done.addAndGet(rows))));
        }
        BlockingQueue<Scanner> idle = new ArrayBlockingQueue<>(atOnce, false, scanners);
        List<Callable<Boolean>> tasks = new ArrayList<>();
        for (int number = 0; number < snapshot.ranges(); number++) {
            int range = number;
            tasks.add(() -> {
                Scanner scanner = idle.take();
                scanner.begin(observers.stream().map(o -> o.range(range)).toList());
                if (only == null) {
                    snapshot.scan(range, scanner);
                } else {
                    snapshot.scan(range, only, scanner);
                }
                scanner.finish();
                return idle.add(scanner);
            });
        }
        threads.all(tasks);
        Map<NodeId, Long> rows = new HashMap<>();
        long newest = Long.MIN_VALUE;
        long after = 0;
        for (Scanner scanner : scanners) {
            scanner.lanes.forEach((node, lane) -> rows.merge(node, lane.rows, Long::sum));
            newest = Math.max(newest, scanner.newest);
            after += scanner.after;
        }
        return new Seen(rows, newest, after);
    }

    /** How many scanners have batches of some size each. */
    private int scannersThatFit() {
        long ofOne = (long) Math.max(1, targets.size()) * BATCH_LEAST * FINGERPRINT_BYTES;
        if (bufferMemory < ofOne) {
            throw HoldfastException.misuse(
                    "batches for " + targets.size() + " nodes need " + ofOne + " bytes and have " + bufferMemory,
                    "set sweep.buffer-memory to at least " + 2 * ofOne);
        }
        return (int) Math.min(Integer.MAX_VALUE, bufferMemory / ofOne);
    }

    /** The pieces of one node, as one scanner finds them. */
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

    /** Takes the pieces of one range after the other. */
    private static final class Scanner implements PieceSink {
        private final Map<NodeId, ? extends Target> targets;
        private final int batch;
        private final LongConsumer rowsDone;
        private List<PieceSink> riders = List.of();
        private final Map<NodeId, Lane> lanes = new HashMap<>();
        private final long takenAtMillis;
        private long newest = Long.MIN_VALUE;
        private long after;
        private int sinceReport;
        private @Nullable NodeId lastNode;
        private @Nullable Lane lastLane;

        Scanner(Map<NodeId, ? extends Target> targets, int batch, long takenAtMillis, LongConsumer rowsDone) {
            this.targets = targets;
            this.batch = batch;
            this.takenAtMillis = takenAtMillis;
            this.rowsDone = rowsDone;
        }

        void begin(List<PieceSink> ridersOfRange) {
            riders = ridersOfRange;
        }

        @Override
        public void piece(NodeId node, byte[] id, long createdMillis) throws Exception {
            Lane lane = lane(node);
            lane.rows++;
            if (createdMillis <= takenAtMillis + DATED_AHEAD_MILLIS) {
                newest = Math.max(newest, createdMillis);
            } else {
                after++;
            }
            Target target = lane.target;
            if (target != null) {
                if (id.length == lane.idBytes) {
                    Fingerprint.put(id, 0, id.length, lane.batch, lane.used);
                    lane.used += 2;
                    if (lane.used == lane.batch.length) {
                        target.take(lane.batch, lane.used);
                        lane.used = 0;
                    }
                } else {
                    target.wrongLength(id.length);
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
            sinceReport = 0;
        }
    }

    /** The catalogue has ids of another length than a node keeps. */
    public static HoldfastException wrongLength(NodeId node, int given, int wanted) {
        return new HoldfastException(
                Category.CORRUPT,
                "the catalogue has an id of " + given + " bytes for node " + node + ", which keeps ids of " + wanted
                        + " bytes",
                "name the form of the catalogue's ids; nothing was trashed",
                null);
    }
}
