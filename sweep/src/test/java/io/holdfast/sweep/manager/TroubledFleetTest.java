package io.holdfast.sweep.manager;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.Time;
import io.holdfast.sweep.catalogue.InMemoryCatalogue;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.node.MemoryFolder;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.node.PieceStore;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.worker.PlantedWorkers;
import io.holdfast.testkit.Seeds;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A fleet of two owners with everything wrong at once: one worker that leaves a piece out of each filter, one node that lies,
 * one whose disk is full, one whose clock is a year behind. More rounds with {@code -Dseeds=N}.
 */
class TroubledFleetTest {

    private static final int LIVE = 800;
    private static final int GARBAGE = 40;
    private static final List<String> HEALTHY = List.of("n1", "n2", "n6");

    private final Logger logger = Logger.getLogger("io.holdfast.sweep");

    @TempDir(factory = MemoryFolder.class)
    private Path folder;

    @BeforeEach
    void quiet() {
        logger.setLevel(Level.OFF);
    }

    @AfterEach
    void loud() {
        logger.setLevel(null);
    }

    /** A clock that is a year behind. */
    private record Behind(Time time) implements Time {
        @Override
        public Instant instant() {
            return time.instant().minus(Duration.ofDays(365));
        }

        @Override
        public long nanoTime() {
            return time.nanoTime();
        }
    }

    /** One such fleet. */
    private static final class Troubled implements AutoCloseable {
        private final PlainFleet fleet;
        private final int builders;
        private final AtomicBoolean full = new AtomicBoolean();
        private final Map<OwnerId, InMemoryCatalogue> catalogues = new TreeMap<>();
        private final Map<OwnerId, Map<String, List<PieceId>>> live = new TreeMap<>();
        private final Map<OwnerId, Map<String, List<PieceId>>> garbage = new TreeMap<>();

        Troubled(Path folder, long seed, int builders) throws IOException {
            this.builders = builders;
            fleet = new PlainFleet(folder, seed);
            for (String name : List.of("n1", "n2", "n3", "n6")) {
                fleet.node(name, 0, 0);
            }
            fleet.node("n4", 0, 0, fleet.time, full::get);
            fleet.node("n5", 0, 0, new Behind(fleet.time), () -> false);
            fleet.worker("w1").worker("w2");
            fleet.worker(
                    "thief",
                    (incarnation, delivery) ->
                            PlantedWorkers.forgetting(incarnation, fleet.ring, delivery, fleet.time, 1));
            for (OwnerId owner : List.of(Fleet.PHOTOS, Fleet.VIDEOS)) {
                fill(owner, seed);
            }
            fleet.replace(
                    "n3",
                    port -> new PlainFleet.LyingNode(
                            port,
                            progress -> new ProgressLie(progress)
                                    .examined(1L << 40)
                                    .wouldTrash(progress.state() == NodeProgress.State.EXAMINED ? 1L << 40 : 0)
                                    .detail("\rstop\u2028everything")
                                    .build(),
                            carried -> carried));
        }

        private void fill(OwnerId owner, long seed) throws IOException {
            InMemoryCatalogue known = new InMemoryCatalogue(owner, "db-" + owner, fleet.time);
            catalogues.put(owner, known);
            for (Map.Entry<String, StorageNode> node : fleet.stores.entrySet()) {
                long ids = 1000 * seed + 31L * owner.hashCode() + node.getKey().hashCode();
                List<PieceId> rows = Fleet.ids(ids, LIVE);
                List<PieceId> rest = Fleet.ids(ids + 7, GARBAGE);
                Fleet.put(node.getValue(), owner, rows);
                Fleet.put(node.getValue(), owner, rest);
                rows.forEach(id -> known.add(new NodeId(node.getKey()), id));
                live.computeIfAbsent(owner, o -> new TreeMap<>()).put(node.getKey(), rows);
                garbage.computeIfAbsent(owner, o -> new TreeMap<>()).put(node.getKey(), rest);
            }
        }

        /** Cycles of both owners, with the newest row of each catalogue of now. */
        List<CycleReport> cycles() {
            List<CycleReport> reports = new ArrayList<>();
            fleet.time.advance(Duration.ofHours(3));
            catalogues.forEach((owner, catalogue) -> {
                catalogue.add(
                        new NodeId("elsewhere"),
                        Fleet.ids(fleet.time.nanoTime(), 1).getFirst());
                reports.add(manager(catalogue).run());
            });
            return reports;
        }

        private SweepManager manager(InMemoryCatalogue catalogue) {
            return fleet.manager(catalogue).set(ManagerSettings.BUILDERS, builders);
        }

        long emptied() {
            return catalogues.values().stream()
                    .mapToLong(catalogue -> manager(catalogue).empty().removed())
                    .sum();
        }

        /** How many of these pieces are in that place. */
        private long count(Map<OwnerId, Map<String, List<PieceId>>> pieces, List<String> nodes, Place place)
                throws IOException {
            long count = 0;
            for (Map.Entry<OwnerId, Map<String, List<PieceId>>> owner : pieces.entrySet()) {
                for (String node : nodes) {
                    for (PieceId id : owner.getValue().getOrDefault(node, List.of())) {
                        count += place == place(node, id) ? 1 : 0;
                    }
                }
            }
            return count;
        }

        private Place place(String node, PieceId id) throws IOException {
            Optional<PieceStore.Facts> facts = fleet.store(node).why(id).facts();
            return facts.isEmpty() ? Place.GONE : facts.get().isLive() ? Place.LIVE : Place.TRASH;
        }

        List<String> all() {
            return List.copyOf(fleet.stores.keySet());
        }

        @Override
        public void close() throws IOException {
            fleet.close();
        }
    }

    private enum Place {
        LIVE,
        TRASH,
        GONE
    }

    @Test
    void withTwoBuildersNoLivePieceIsTrashedAndEveryHealthyNodeIsSwept() {
        Seeds.of(1).run((seed, random) -> {
            try (Troubled troubled = new Troubled(folder.resolve("two-" + seed), seed, 2)) {
                troubled.cycles();
                troubled.full.set(true);
                for (int cycle = 0; cycle < 3; cycle++) {
                    troubled.cycles();
                    assertThat(troubled.count(troubled.live, troubled.all(), Place.LIVE))
                            .as("live pieces of all nodes and owners that are live")
                            .isEqualTo(2L * 6 * LIVE);
                }
                assertThat(troubled.count(troubled.garbage, HEALTHY, Place.TRASH))
                        .as("garbage of the healthy nodes in the trash")
                        .isEqualTo(2L * HEALTHY.size() * GARBAGE);
            }
        });
    }

    @Test
    void withOneBuilderTheCycleAWeekLaterDeletesGarbageAndBringsEveryLivePieceBack() {
        Seeds.of(1).run((seed, random) -> {
            try (Troubled troubled = new Troubled(folder.resolve("one-" + seed), seed, 1)) {
                troubled.cycles();
                troubled.full.set(true);
                long wronged = 0;
                for (int cycle = 0; cycle < 4; cycle++) {
                    troubled.cycles();
                    wronged += troubled.count(troubled.live, troubled.all(), Place.TRASH);
                }
                assertThat(wronged).as("the thief did harm").isPositive();
                assertThat(troubled.emptied())
                        .as("nothing is deleted before a week")
                        .isZero();
                troubled.fleet.time.advance(Duration.ofDays(8));
                troubled.cycles();
                assertThat(troubled.emptied()).isPositive();
                // What the thief built this time may have trashed another piece; the next honest filter finds it.
                assertThat(troubled.count(troubled.live, troubled.all(), Place.GONE))
                        .as("live pieces that are gone")
                        .isZero();
                assertThat(troubled.fleet.state().alarms())
                        .as("a person is told")
                        .isNotEmpty();
                troubled.fleet.workers.remove("thief");
                for (int week = 0; week < 3; week++) {
                    troubled.fleet.time.advance(Duration.ofDays(8));
                    troubled.cycles();
                    troubled.emptied();
                }
                assertThat(troubled.count(troubled.live, troubled.all(), Place.LIVE))
                        .as("without the thief every live piece is back")
                        .isEqualTo(2L * 6 * LIVE);
                assertThat(troubled.count(troubled.garbage, HEALTHY, Place.GONE))
                        .as("garbage of the healthy nodes that is deleted for good")
                        .isEqualTo(2L * HEALTHY.size() * GARBAGE);
            }
        });
    }
}
