package io.holdfast.sweep.catalogue;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.ManualTime;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class InMemoryCatalogueTest extends CatalogueContract {

    private final InMemoryCatalogue catalogue = new InMemoryCatalogue(new OwnerId("photos"), "first", new ManualTime());

    @Override
    protected Catalogue catalogue(List<Row> rows) {
        rows.forEach(row -> catalogue.add(row.node(), row.id(), Instant.ofEpochMilli(row.created())));
        return catalogue;
    }

    @Test
    void snapshotDoesNotSeeLaterChanges() throws Exception {
        NodeId node = new NodeId("n1");
        PieceId first = PieceId.of(new byte[] {1});
        catalogue.add(node, first);
        try (Catalogue.Snapshot snapshot = catalogue.open()) {
            catalogue.release(node, first);
            catalogue.add(node, PieceId.of(new byte[] {2}));
            assertThat(scan(snapshot)).extracting(Row::id).containsExactly(first);
        }
    }
}
