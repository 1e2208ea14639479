package io.holdfast.bench.sweep;

import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/** A catalogue that costs next to nothing to read: 32-byte ids made up on the way, each on a node of its own choice. */
final class MadeUpCatalogue implements Catalogue, Catalogue.Snapshot {

    private static final int ID_BYTES = 32;

    private final long pieces;
    private final int ranges;
    private final List<NodeId> nodes = new ArrayList<>();
    private final Instant takenAt = Instant.now();

    MadeUpCatalogue(long pieces, int nodeCount, int ranges) {
        this.pieces = pieces;
        this.ranges = ranges;
        for (int i = 0; i < nodeCount; i++) {
            nodes.add(new NodeId(String.format("node-%06d", i)));
        }
    }

    List<NodeId> nodes() {
        return nodes;
    }

    @Override
    public OwnerId owner() {
        return new OwnerId("bench");
    }

    @Override
    public Snapshot open() {
        return this;
    }

    @Override
    public Instant takenAt() {
        return takenAt;
    }

    @Override
    public String incarnation() {
        return "bench";
    }

    @Override
    public int ranges() {
        return ranges;
    }

    @Override
    public void scan(int range, PieceSink sink) throws Exception {
        SplittableRandom random = new SplittableRandom(range);
        byte[] id = new byte[ID_BYTES];
        ByteBuffer bytes = ByteBuffer.wrap(id);
        long millis = takenAt.toEpochMilli();
        for (long i = 0; i < pieces / ranges; i++) {
            long word = random.nextLong();
            bytes.putLong(0, word).putLong(8, i).putLong(16, range).putLong(24, word ^ i);
            sink.piece(nodes.get((int) Math.unsignedMultiplyHigh(word, nodes.size())), id, millis);
        }
    }

    @Override
    public Optional<Map<NodeId, Long>> counts() {
        int[] counts = new int[nodes.size()];
        for (int range = 0; range < ranges; range++) {
            SplittableRandom random = new SplittableRandom(range);
            for (long i = 0; i < pieces / ranges; i++) {
                counts[(int) Math.unsignedMultiplyHigh(random.nextLong(), nodes.size())]++;
            }
        }
        Map<NodeId, Long> all = new HashMap<>();
        for (int i = 0; i < counts.length; i++) {
            all.put(nodes.get(i), (long) counts[i]);
        }
        return Optional.of(all);
    }

    @Override
    public boolean contains(NodeId node, byte[] id) {
        return false;
    }
}
