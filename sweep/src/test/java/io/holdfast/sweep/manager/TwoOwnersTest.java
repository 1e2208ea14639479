package io.holdfast.sweep.manager;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.InMemoryCatalogue;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.node.MemoryFolder;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two managers run cycles of two owners at once, on the same workers and nodes. */
class TwoOwnersTest {

    private static final List<PieceId> LIVE = Fleet.ids(71, 500);
    private static final List<PieceId> GARBAGE = Fleet.ids(72, 30);

    @TempDir(factory = MemoryFolder.class)
    private Path folder;

    private PlainFleet fleet;
    private InMemoryCatalogue videos;

    @BeforeEach
    void open() throws IOException {
        fleet = new PlainFleet(folder);
        fleet.node("n1", 500, 30).node("n2", 500, 30).worker("w1").worker("w2");
        videos = new InMemoryCatalogue(Fleet.VIDEOS, "db-2", fleet.time);
        for (Map.Entry<String, StorageNode> node : fleet.stores.entrySet()) {
            Fleet.put(node.getValue(), Fleet.VIDEOS, LIVE);
            Fleet.put(node.getValue(), Fleet.VIDEOS, GARBAGE);
            LIVE.forEach(id -> videos.add(new NodeId(node.getKey()), id));
        }
    }

    @AfterEach
    void close() throws IOException {
        fleet.close();
    }

    @Test
    void cyclesOfTwoOwnersDoNotDisturbEachOther() throws IOException {
        fleet.dryRun();
        touchVideos();
        fleet.manager(videos).run();
        fleet.age();
        touchVideos();
        AtomicInteger scanned = new AtomicInteger();
        CycleReport[] inner = new CycleReport[1];
        CycleReport outer = fleet.manager(during(fleet.catalogue, () -> {
                    if (scanned.incrementAndGet() == 700) {
                        inner[0] = fleet.manager(videos).run();
                    }
                }))
                .run();
        for (CycleReport report : List.of(outer, inner[0])) {
            assertThat(report.in("done")).as(report.toString()).hasSize(2);
            assertThat(report.attempts()).isEqualTo(1);
            assertThat(report.trashed()).isEqualTo(60);
        }
        assertThat(fleet.liveTrashed()).isZero();
        for (StorageNode node : fleet.stores.values()) {
            assertThat(Fleet.live(node, Fleet.VIDEOS)).containsExactlyInAnyOrderElementsOf(LIVE);
        }
    }

    private void touchVideos() {
        videos.add(new NodeId("n1"), LIVE.getFirst());
    }

    /** Something happens at each row of the scan. */
    private static Catalogue during(Catalogue catalogue, Runnable atEachRow) {
        return new Catalogue() {
            @Override
            public OwnerId owner() {
                return catalogue.owner();
            }

            @Override
            public Snapshot open() throws Exception {
                Snapshot view = catalogue.open();
                return new Snapshot() {
                    @Override
                    public Instant takenAt() {
                        return view.takenAt();
                    }

                    @Override
                    public String incarnation() {
                        return view.incarnation();
                    }

                    @Override
                    public void scan(int range, PieceSink sink) throws Exception {
                        for (NodeId node : Set.of(new NodeId("n1"), new NodeId("n2"))) {
                            view.scan(range, Set.of(node), (of, id, created) -> {
                                atEachRow.run();
                                sink.piece(of, id, created);
                            });
                        }
                    }

                    @Override
                    public int ranges() {
                        return view.ranges();
                    }

                    @Override
                    public Optional<Map<NodeId, Long>> counts() throws Exception {
                        return view.counts();
                    }

                    @Override
                    public boolean contains(NodeId node, byte[] id) throws Exception {
                        return view.contains(node, id);
                    }
                };
            }
        };
    }
}
