package io.holdfast.sweep.manager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.catalogue.Catalogue.PieceSink;
import io.holdfast.sweep.catalogue.ScanObserver;
import io.holdfast.sweep.node.MemoryFolder;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.transfer.NodeBuilt;
import io.holdfast.sweep.transfer.SessionKey;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Observers ride on the scan of a fleet's cycle as on that of a cycle in one process. */
class ObservedCycleTest {

    @TempDir(factory = MemoryFolder.class)
    private Path folder;

    private PlainFleet fleet;

    @BeforeEach
    void open() throws IOException {
        fleet = new PlainFleet(folder);
        fleet.node("n1", 300, 10)
                .node("n2", 200, 10)
                .worker("w1")
                .worker("w2")
                .dryRun()
                .age();
    }

    @AfterEach
    void close() throws IOException {
        fleet.close();
    }

    /** Counts what it sees. */
    private static final class Audit implements ScanObserver {
        private final List<String> events = new ArrayList<>();
        private int pieces;
        private int most = Integer.MAX_VALUE;

        @Override
        public PieceSink range(int range) {
            return (node, id, created) -> {
                if (++pieces > most) {
                    throw new HoldfastException(Category.FULL, "the audit has no room");
                }
            };
        }

        @Override
        public void complete() {
            events.add("complete");
        }

        @Override
        public void aborted(Throwable cause) {
            events.add("aborted: " + cause.getMessage());
        }
    }

    /** One worker is lost, and its nodes are scanned again for the other. */
    @Test
    void observerSeesEachPieceOnceThoughNodesAreScannedAgain() {
        fleet.workers.computeIfPresent(
                "w2", (name, port) -> new PlainFleet.DirectWorker(name, ((PlainFleet.DirectWorker) port).worker) {
                    @Override
                    public List<NodeBuilt> end(SessionKey session, Map<NodeId, Long> endings) {
                        throw new HoldfastException(Category.GONE, "it was restarted");
                    }
                });
        Audit audit = new Audit();
        CycleReport report = fleet.manager().observe(audit).run();
        assertThat(report.attempts()).isEqualTo(2);
        assertThat(audit.pieces).isEqualTo(500);
        assertThat(audit.events).containsExactly("complete");
    }

    @Test
    void observerThatFailsAbortsTheCycleAndIsTold() {
        Audit audit = new Audit();
        audit.most = 100;
        assertThatThrownBy(() -> fleet.manager().observe(audit).run()).hasMessageContaining("the audit has no room");
        assertThat(audit.events).containsExactly("aborted: the audit has no room");
    }
}
