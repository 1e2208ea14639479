package io.holdfast.sweep.cycle;

import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.FingerprintScan;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.piece.NodeId;
import java.util.Map;
import java.util.function.LongConsumer;

/** A snapshot, and how many rows it has of each node: what every scan of it must come to. */
public record Counted(Catalogue.Snapshot snapshot, Map<NodeId, Long> rows) {

    public Counted {
        rows = Map.copyOf(rows);
    }

    public static Counted of(Catalogue.Snapshot snapshot, ScanThreads threads, LongConsumer done) throws Exception {
        return new Counted(snapshot, FingerprintScan.counts(snapshot, threads, done));
    }

    public long of(NodeId node) {
        return rows.getOrDefault(node, 0L);
    }

    public long inAll() {
        return rows.values().stream().mapToLong(Long::longValue).sum();
    }
}
