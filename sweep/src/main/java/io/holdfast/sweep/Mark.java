package io.holdfast.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.catalogue.FingerprintScan;
import io.holdfast.sweep.catalogue.ScanObserver;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.cycle.Counted;
import io.holdfast.sweep.cycle.Cutoff;
import io.holdfast.sweep.cycle.Marked;
import io.holdfast.sweep.cycle.Marker;
import io.holdfast.sweep.filter.FilterFormat;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.Built;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Builds the live filters of a cycle in this process.
 *
 * <p>A batch of fingerprints goes to its node's filter in one turn, so that the filter is in the cache while it is
 * worked on. The memory is known before anything is allocated: filters from the counts, batches from a setting.
 *
 * <p>At the end, the rows of every node (also of those that are not swept) must be what the same snapshot counted. One
 * row more or less, any exception, a lost snapshot: no filter leaves this class. Nothing else needs proof, as nobody else
 * has touched a filter.
 */
final class Mark implements Marker {

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

    private final OwnerId owner;
    private final Instant vouched;
    private final long seed;
    private final long filterMemory;
    private final long bufferMemory;
    private final ScanThreads threads;
    private final List<ScanObserver> observers;
    private final SweepProgress progress;
    private Map<NodeId, Target> targets = Map.of();
    private Instant cutoff = Instant.EPOCH;

    Mark(
            OwnerId owner,
            Instant vouched,
            long seed,
            long filterMemory,
            long bufferMemory,
            ScanThreads threads,
            List<ScanObserver> observers,
            SweepProgress progress) {
        this.owner = owner;
        this.vouched = vouched;
        this.seed = seed;
        this.filterMemory = filterMemory;
        this.bufferMemory = bufferMemory;
        this.threads = threads;
        this.observers = observers;
        this.progress = progress;
    }

    @Override
    public Outcome mark(Counted catalogue, SortedMap<NodeId, Wish> wishes, int attempt) throws Exception {
        try {
            targets = targets(wishes);
            FingerprintScan.Seen seen = new FingerprintScan(
                            catalogue.snapshot(),
                            targets,
                            bufferMemory,
                            threads,
                            observers,
                            done -> progress.progress(SweepProgress.Phase.SCAN, owner.name(), done, catalogue.inAll()))
                    .run();
            seen.compare(catalogue.rows(), null);
            catalogue.snapshot().check();
            observers.forEach(ScanObserver::complete);
            cutoff = Cutoff.of(catalogue.snapshot().takenAt(), seen.newestMillis(), vouched);
        } catch (Exception | Error e) {
            observers.forEach(observer -> observer.aborted(e));
            throw e;
        }
        Map<NodeId, Marked> filters = new TreeMap<>();
        targets.forEach((node, target) -> filters.put(node, marked(target, catalogue.of(node), attempt)));
        return new Outcome(filters, Map.of(), Map.of());
    }

    private Marked marked(Target target, long rows, int attempt) {
        String digest = FilterFormat.digestText(target.filter);
        return new Marked(attempt, seed, digest, rows, target.fresh, target.fresh, List::of, Built.AGREED, List.of());
    }

    @Override
    public Instant cutoff() {
        return cutoff;
    }

    @Override
    public int buildersAtHand() {
        return 1;
    }

    /** The filter that was built for a node. */
    LiveFilter filter(NodeId node) {
        Target target = targets.get(node);
        if (target == null) {
            throw new IllegalStateException("no filter was made for " + node);
        }
        return target.filter;
    }

    private Map<NodeId, Target> targets(Map<NodeId, Wish> wishes) {
        long bytes = wishes.values().stream()
                .mapToLong(wish -> wish.geometry().bytes())
                .sum();
        if (bytes > filterMemory) {
            throw HoldfastException.misuse(
                    "the filters of " + wishes.size() + " nodes need " + bytes + " bytes; allowed are " + filterMemory,
                    "set sweep.filter-memory to at least " + ((bytes >> 20) + 1) + "MiB, or sweep fewer nodes at once");
        }
        Map<NodeId, Target> all = new HashMap<>();
        wishes.forEach((node, wish) ->
                all.put(node, new Target(node, LiveFilter.empty(wish.geometry(), seed), wish.idBytes())));
        return all;
    }
}
