package io.holdfast.sweep.catalogue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.sweep.piece.NodeId;
import java.time.Instant;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FingerprintScanTest {

    private static final int PIECES_A_NODE_AND_RANGE = 3;

    /** Every range has pieces of every node. */
    private record Spread(List<NodeId> nodes, int ranges) implements Catalogue.Snapshot {

        static Spread of(int nodes, int ranges) {
            return new Spread(
                    IntStream.range(0, nodes).mapToObj(i -> new NodeId("n" + i)).toList(), ranges);
        }

        @Override
        public Instant takenAt() {
            return Instant.EPOCH;
        }

        @Override
        public String incarnation() {
            return "one";
        }

        @Override
        public void scan(int range, Catalogue.PieceSink sink) throws Exception {
            for (int i = 0; i < PIECES_A_NODE_AND_RANGE; i++) {
                for (NodeId node : nodes) {
                    sink.piece(node, new byte[] {(byte) range, (byte) i}, 0);
                }
            }
        }

        @Override
        public boolean contains(NodeId node, byte[] id) {
            return true;
        }
    }

    /** Sees which arrays its fingerprints come in. */
    private static final class Target implements FingerprintScan.Target {
        @Override
        public void wrongLength(int given) {
            throw new IllegalStateException("an id of " + given + " bytes");
        }

        private final Set<long[]> arrays = Collections.newSetFromMap(new IdentityHashMap<>());
        private final AtomicLong pieces = new AtomicLong();

        @Override
        public int idBytes() {
            return 2;
        }

        @Override
        public synchronized void take(long[] batch, int to) {
            arrays.add(batch);
            pieces.addAndGet(to / 2);
        }

        synchronized long bytes() {
            return arrays.stream()
                    .mapToLong(array -> (long) array.length * Long.BYTES)
                    .sum();
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 1", "10, 40, 1", "10, 40, 4", "1000, 16, 2", "1000, 16, 16", "4096, 4, 4"})
    void batchesTakeNoMoreThanTheBufferMemoryWhateverTheNumberOfNodesRangesAndThreads(
            int nodes, int ranges, int scanners) throws Exception {
        long memory = 1 << 20;
        Spread snapshot = Spread.of(nodes, ranges);
        Map<NodeId, Target> targets = new HashMap<>();
        snapshot.nodes().forEach(node -> targets.put(node, new Target()));
        AtomicLong rows = new AtomicLong();
        try (ScanThreads threads = ScanThreads.of(scanners)) {
            FingerprintScan.Seen seen =
                    new FingerprintScan(snapshot, targets, memory, threads, List.of(), rows::set).run();
            Map<NodeId, Long> counts = new HashMap<>();
            snapshot.nodes().forEach(node -> counts.put(node, (long) PIECES_A_NODE_AND_RANGE * ranges));
            seen.compare(counts, null);
        }
        assertThat(targets.values().stream().mapToLong(Target::bytes).sum()).isLessThanOrEqualTo(memory);
        assertThat(targets.values())
                .allSatisfy(
                        target -> assertThat(target.pieces.get()).isEqualTo((long) PIECES_A_NODE_AND_RANGE * ranges));
        assertThat(rows.get()).isPositive();
    }

    @Test
    void buffersThatAreTooSmallForTheNodesAreRefusedSayingHowMuchIsNeeded() {
        Spread snapshot = Spread.of(5000, 1);
        Map<NodeId, Target> targets = new HashMap<>();
        snapshot.nodes().forEach(node -> targets.put(node, new Target()));
        assertThatThrownBy(() -> new FingerprintScan(
                                snapshot, targets, 1 << 20, ScanThreads.ofCaller(), List.of(), done -> {})
                        .run())
                .hasMessageContaining("batches for 5000 nodes need 1280000 bytes and have 1048576");
    }
}
