package io.holdfast.sweep.manager;

import io.holdfast.Time;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.random.RandomGenerator;

/** A catalogue that lists every piece twice, in another order each time, and may fail at any row. */
final class SimCatalogue implements Catalogue {

    private final OwnerId owner;
    private final Time time;
    private final RandomGenerator random;
    private final TreeMap<NodeId, TreeSet<PieceId>> pieces = new TreeMap<>();
    private final Map<Instant, Map<NodeId, List<PieceId>>> snapshots = new HashMap<>();
    double failRate;

    /** What goes on in the world while a snapshot is opened: counting a large table takes minutes. */
    Runnable opening = () -> {};

    SimCatalogue(OwnerId owner, Time time, RandomGenerator random) {
        this.owner = owner;
        this.time = time;
        this.random = random;
    }

    void add(NodeId node, PieceId id) {
        pieces.computeIfAbsent(node, n -> new TreeSet<>()).add(id);
    }

    void remove(NodeId node, PieceId id) {
        pieces.getOrDefault(node, new TreeSet<>()).remove(id);
    }

    Set<PieceId> of(NodeId node) {
        return pieces.getOrDefault(node, new TreeSet<>());
    }

    /** What was live on a node in the snapshot with this cutoff. */
    List<PieceId> liveAt(Instant cutoff, NodeId node) {
        return snapshots.getOrDefault(cutoff, Map.of()).getOrDefault(node, List.of());
    }

    @Override
    public OwnerId owner() {
        return owner;
    }

    @Override
    public Snapshot open() {
        Map<NodeId, List<PieceId>> copy = new TreeMap<>();
        pieces.forEach((node, ids) -> copy.put(node, new ArrayList<>(ids)));
        Instant takenAt = Instant.ofEpochMilli(time.instant().toEpochMilli());
        snapshots.put(takenAt, copy);
        opening.run();
        return new Snapshot() {
            @Override
            public Instant takenAt() {
                return takenAt;
            }

            @Override
            public String incarnation() {
                return "sim";
            }

            @Override
            public void scan(int range, PieceSink sink) throws Exception {
                List<Map.Entry<NodeId, PieceId>> rows = new ArrayList<>();
                copy.forEach((node, ids) -> ids.forEach(id -> rows.add(Map.entry(node, id))));
                Collections.shuffle(rows, new Random(random.nextLong()));
                long failAt = random.nextDouble() < failRate ? random.nextInt(rows.size() + 1) : -1;
                for (int i = 0; i < rows.size(); i++) {
                    if (i == failAt) {
                        throw new IOException("the connection to the catalogue is lost");
                    }
                    for (int twice = 0; twice < 2; twice++) {
                        sink.piece(rows.get(i).getKey(), rows.get(i).getValue().bytes(), takenAt.toEpochMilli());
                    }
                }
            }

            @Override
            public Optional<Map<NodeId, Long>> counts() {
                Map<NodeId, Long> counts = new HashMap<>();
                copy.forEach((node, ids) -> counts.put(node, 2L * ids.size()));
                return Optional.of(counts);
            }

            @Override
            public boolean contains(NodeId node, byte[] id) {
                return copy.getOrDefault(node, List.of()).contains(PieceId.of(id));
            }
        };
    }
}
