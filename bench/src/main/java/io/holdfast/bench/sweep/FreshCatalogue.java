package io.holdfast.bench.sweep;

import io.holdfast.Time;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.io.IOException;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;

/** A catalogue whose export was always taken just now, so that one export serves cycle after cycle. */
record FreshCatalogue(Catalogue export, Time time) implements Catalogue {

    @Override
    public OwnerId owner() {
        return export.owner();
    }

    @Override
    public Snapshot open() throws Exception {
        Snapshot snapshot = export.open();
        Instant now = time.instant();
        return new Snapshot() {
            @Override
            public Instant takenAt() {
                return now;
            }

            @Override
            public String incarnation() {
                return snapshot.incarnation();
            }

            @Override
            public int ranges() {
                return snapshot.ranges();
            }

            @Override
            public void scan(int range, PieceSink sink) throws Exception {
                snapshot.scan(range, (node, id, created) -> sink.piece(node, id, now.toEpochMilli()));
            }

            @Override
            public Optional<Map<NodeId, Long>> counts() throws Exception {
                return snapshot.counts();
            }

            @Override
            public boolean contains(NodeId node, byte[] id) throws Exception {
                return snapshot.contains(node, id);
            }

            @Override
            public void close() throws IOException {
                snapshot.close();
            }
        };
    }
}
