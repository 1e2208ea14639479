package io.holdfast.app.serve;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sweep.SweepReport;
import io.holdfast.sweep.node.NodeReport;
import io.holdfast.sweep.node.SpareReason;
import io.holdfast.sweep.node.Verdict;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SweepMetersTest {

    private static final OwnerId OWNER = new OwnerId("photos");

    @Test
    void livePiecesAreNotCountedAsSpared() {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        new SweepMeters(registry).ran(report(Map.of(SpareReason.LIVE, 1000L, SpareReason.YOUNG, 3L)), 0);
        assertThat(registry.get("holdfast.sweep.spared").counter().count()).isEqualTo(3);
    }

    private static SweepReport report(Map<SpareReason, Long> spared) {
        NodeReport node = new NodeReport(
                new NodeId("n1"), OWNER, 1, "", Verdict.READY, 1010, spared, 7, 700, 7, 700, 0, List.of(), "done");
        return new SweepReport(OWNER, 1, Instant.EPOCH, 1000, 0, List.of(node), Map.of(), "", Map.of());
    }
}
