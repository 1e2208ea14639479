package io.holdfast.sweep.catalogue;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.PieceId;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** What every catalogue keeps to. */
public abstract class CatalogueContract {

    /** A row of a catalogue. */
    protected record Row(NodeId node, PieceId id, long created) {}

    /** A catalogue with exactly these rows. */
    protected abstract Catalogue catalogue(List<Row> rows) throws Exception;

    /** Rows on seven nodes of very different sizes. */
    protected static List<Row> rows(int count) {
        SplittableRandom random = new SplittableRandom(count);
        List<Row> rows = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] id = new byte[16];
            random.nextBytes(id);
            int node = Math.min(6, (int) Math.sqrt(random.nextInt(50)));
            rows.add(new Row(new NodeId("node-" + node), PieceId.of(id), 1_767_225_600_000L + i));
        }
        return rows;
    }

    @Test
    void rangesTogetherHandOverEveryPieceOnce() throws Exception {
        List<Row> rows = rows(5_000);
        try (Catalogue.Snapshot snapshot = catalogue(rows).open()) {
            assertThat(scan(snapshot)).containsExactlyInAnyOrderElementsOf(rows);
            assertThat(scan(snapshot)).as("a second scan of the same view").hasSize(rows.size());
        }
    }

    @Test
    void countsAreExact() throws Exception {
        List<Row> rows = rows(3_000);
        try (Catalogue.Snapshot snapshot = catalogue(rows).open()) {
            Map<NodeId, Long> expected = new HashMap<>();
            rows.forEach(row -> expected.merge(row.node(), 1L, Long::sum));
            assertThat(snapshot.counts()).contains(expected);
        }
    }

    @Test
    void containsKnowsNodeAndId() throws Exception {
        List<Row> rows = rows(200);
        try (Catalogue.Snapshot snapshot = catalogue(rows).open()) {
            Row row = rows.getFirst();
            assertThat(snapshot.contains(row.node(), row.id().bytes())).isTrue();
            assertThat(snapshot.contains(new NodeId("other"), row.id().bytes())).isFalse();
            assertThat(snapshot.contains(row.node(), new byte[16])).isFalse();
        }
    }

    @Test
    void emptyCatalogueIsACatalogue() throws Exception {
        try (Catalogue.Snapshot snapshot = catalogue(List.of()).open()) {
            assertThat(scan(snapshot)).isEmpty();
            assertThat(snapshot.incarnation()).isNotEmpty();
            assertThat(snapshot.takenAt()).isAfter(Instant.EPOCH);
            snapshot.check();
        }
    }

    protected static List<Row> scan(Catalogue.Snapshot snapshot) throws Exception {
        List<Row> seen = new ArrayList<>();
        for (int range = 0; range < snapshot.ranges(); range++) {
            snapshot.scan(range, (node, id, created) -> seen.add(new Row(node, PieceId.of(id), created)));
        }
        return seen;
    }
}
