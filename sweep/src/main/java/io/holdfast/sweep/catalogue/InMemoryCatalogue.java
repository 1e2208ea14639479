package io.holdfast.sweep.catalogue;

import io.holdfast.Time;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** A catalogue in memory: for tests, examples, and sets of ids that a program has at hand. A snapshot is a copy. */
public final class InMemoryCatalogue implements Catalogue {

    private final OwnerId owner;
    private final Time time;
    private final String incarnation;
    private final TreeMap<NodeId, Map<PieceId, Long>> pieces = new TreeMap<>();

    public InMemoryCatalogue(OwnerId owner, String incarnation, Time time) {
        this.owner = owner;
        this.incarnation = incarnation;
        this.time = time;
    }

    public synchronized void add(NodeId node, PieceId id) {
        add(node, id, time.instant());
    }

    public synchronized void add(NodeId node, PieceId id, Instant created) {
        pieces.computeIfAbsent(node, n -> new HashMap<>()).put(id, created.toEpochMilli());
    }

    /** The piece is garbage from now on. */
    public synchronized void release(NodeId node, PieceId id) {
        Map<PieceId, Long> known = pieces.get(node);
        if (known != null) {
            known.remove(id);
        }
    }

    @Override
    public OwnerId owner() {
        return owner;
    }

    @Override
    public synchronized Snapshot open() {
        List<NodeId> nodes = new ArrayList<>();
        List<Map<PieceId, Long>> copies = new ArrayList<>();
        pieces.forEach((node, known) -> {
            nodes.add(node);
            copies.add(Map.copyOf(known));
        });
        return new View(time.instant(), incarnation, nodes, copies);
    }

    private record View(Instant takenAt, String incarnation, List<NodeId> nodes, List<Map<PieceId, Long>> copies)
            implements Snapshot {

        @Override
        public int ranges() {
            return Math.max(1, nodes.size());
        }

        @Override
        public void scan(int range, PieceSink sink) throws Exception {
            if (range < nodes.size()) {
                for (Map.Entry<PieceId, Long> piece : copies.get(range).entrySet()) {
                    sink.piece(nodes.get(range), piece.getKey().bytes(), piece.getValue());
                }
            }
        }

        @Override
        public void scan(int range, Set<NodeId> wanted, PieceSink sink) throws Exception {
            if (range < nodes.size() && wanted.contains(nodes.get(range))) {
                scan(range, sink);
            }
        }

        @Override
        public Optional<Map<NodeId, Long>> counts() {
            Map<NodeId, Long> counts = new HashMap<>();
            for (int i = 0; i < nodes.size(); i++) {
                counts.put(nodes.get(i), (long) copies.get(i).size());
            }
            return Optional.of(counts);
        }

        @Override
        public Map<NodeId, Set<PieceId>> known(Map<NodeId, Set<PieceId>> asked) {
            Map<NodeId, Set<PieceId>> known = new HashMap<>();
            asked.forEach((node, ids) -> {
                int at = nodes.indexOf(node);
                Set<PieceId> here = new HashSet<>(ids);
                here.retainAll(at < 0 ? Set.of() : copies.get(at).keySet());
                if (!here.isEmpty()) {
                    known.put(node, here);
                }
            });
            return known;
        }
    }
}
