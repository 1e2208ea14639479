package io.holdfast.sweep;

import static io.holdfast.sweep.node.Fleet.PHOTOS;
import static io.holdfast.sweep.node.Fleet.VIDEOS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.InMemoryCatalogue;
import io.holdfast.sweep.catalogue.ScanObserver;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.node.MemoryFolder;
import io.holdfast.sweep.node.NodeReport;
import io.holdfast.sweep.node.SpareReason;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.node.Verdict;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.testkit.Seeds;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The cycle in one process, and what has gone wrong with such cycles elsewhere, each as a test of its own. */
class SweepTest {

    private static final NodeId N1 = new NodeId("n1");
    private static final NodeId N2 = new NodeId("n2");

    @TempDir(factory = MemoryFolder.class)
    private Path folder;

    private Fleet fleet;
    private StorageNode first;
    private StorageNode second;
    private InMemoryCatalogue catalogue;
    private final List<PieceId> liveOnFirst = Fleet.ids(1, 120);
    private final List<PieceId> liveOnSecond = Fleet.ids(2, 40);
    private final List<PieceId> garbage = Fleet.ids(3, 8);

    @BeforeEach
    void open() throws IOException {
        fleet = new Fleet(folder);
        first = fleet.node("n1");
        second = fleet.node("n2");
        catalogue = new InMemoryCatalogue(PHOTOS, "db-1", fleet.time);
        liveOnFirst.forEach(id -> catalogue.add(N1, id));
        liveOnSecond.forEach(id -> catalogue.add(N2, id));
        Fleet.put(first, PHOTOS, liveOnFirst);
        Fleet.put(first, PHOTOS, garbage);
        Fleet.put(second, PHOTOS, liveOnSecond);
        fleet.age();
        // The newest creation time bounds the cutoff, so the catalogue goes on living.
        touch();
    }

    @AfterEach
    void close() throws IOException {
        fleet.close();
    }

    private void touch() {
        catalogue.add(
                new NodeId("elsewhere"), Fleet.ids(fleet.time.nanoTime(), 1).getFirst());
    }

    private Sweep sweep(Catalogue from) {
        AtomicLong seed = new AtomicLong(fleet.time.nanoTime());
        return Sweep.of(from)
                .nodes(List.of(first, second))
                .time(fleet.time)
                .seeds(seed::incrementAndGet)
                .set(SweepSettings.FALSE_POSITIVES, "0.01");
    }

    @Test
    void firstCycleReportsAndTheSecondTrashesGarbageAndNothingElse() throws IOException {
        SweepPlan plan = sweep(catalogue).plan();
        assertThat(plan.report().nodes()).extracting(NodeReport::verdict).containsOnly(Verdict.FIRST_CYCLE);
        assertThat(plan.trash().trashed()).isZero();
        SweepReport report = sweep(catalogue).plan().trash();
        assertThat(report.failures()).isEmpty();
        assertThat(report.trashed()).isEqualTo(garbage.size());
        assertThat(report.rows()).isEqualTo(160);
        assertThat(report.rowsElsewhere()).isEqualTo(1);
        assertThat(report.took()).containsKeys("scan", "examine", "trash");
        assertNothingLost();
        assertThat(Fleet.live(first, PHOTOS)).hasSize(liveOnFirst.size());
    }

    @Test
    void approvedFirstCycleTrashesAtOnce() {
        SweepPlan plan = sweep(catalogue).plan();
        assertThat(plan.trash(plan.approvals("ann")).trashed()).isEqualTo(garbage.size());
    }

    @Test
    void onlyTheNewestPlanCanBeCarriedOut() {
        sweep(catalogue).plan();
        SweepPlan old = sweep(catalogue).plan();
        sweep(catalogue).plan();
        SweepReport report = old.trash();
        assertThat(report.trashed()).isZero();
        assertThat(report.failures().values())
                .allMatch(why -> why.contains("only the newest plan") || why.contains("has not examined"));
    }

    @Test
    void scanErrorAtAnyRowLetsNoFilterOut() throws IOException {
        sweep(catalogue).plan();
        for (int row = 0; row <= 160; row += 7) {
            int failAt = row;
            AtomicInteger seen = new AtomicInteger();
            AtomicReference<Throwable> told = new AtomicReference<>();
            Catalogue broken = scanning((snapshot, range, sink) -> snapshot.scan(range, (node, id, created) -> {
                if (seen.getAndIncrement() == failAt) {
                    throw new IOException("connection reset");
                }
                sink.piece(node, id, created);
            }));
            assertThatThrownBy(() -> sweep(broken).observe(observer(told)).plan())
                    .isInstanceOf(HoldfastException.class)
                    .hasMessageContaining("connection reset");
            assertThat(told.get()).isNotNull();
            assertThat(first.lastCycle(PHOTOS))
                    .as("no node ever heard of the cycle")
                    .isEqualTo(1);
        }
        assertNothingLost();
    }

    @Test
    void scanThatSilentlyEndsEarlyIsNoticedByTheCount() throws IOException {
        AtomicInteger seen = new AtomicInteger();
        Catalogue truncated = scanning((snapshot, range, sink) -> snapshot.scan(range, (node, id, created) -> {
            if (seen.getAndIncrement() != 77) {
                sink.piece(node, id, created);
            }
        }));
        assertThatThrownBy(() -> sweep(truncated).plan())
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.CORRUPT))
                .hasMessageContaining("and its scan gave");
        assertThat(first.lastCycle(PHOTOS)).isZero();
    }

    @Test
    void duplicateRowsNeitherHurtNorStopACycle() throws IOException {
        Catalogue doubled = new Changed(catalogue) {
            @Override
            void scan(Snapshot snapshot, int range, PieceSink sink) throws Exception {
                for (int time = 0; time < 3; time++) {
                    snapshot.scan(range, sink);
                }
            }

            @Override
            Optional<Map<NodeId, Long>> counts(Snapshot snapshot) {
                return Optional.empty();
            }
        };
        sweep(doubled).plan();
        SweepReport report = sweep(doubled).plan().trash();
        assertThat(report.rows()).isEqualTo(480);
        assertThat(report.trashed()).isEqualTo(garbage.size());
        assertNothingLost();
    }

    @Test
    void restoredBackupOnlyReportsUntilAnOperatorApproves() throws IOException {
        sweep(catalogue).plan();
        // The backup does not know the newest third.
        InMemoryCatalogue backup = new InMemoryCatalogue(PHOTOS, "db-2", fleet.time);
        liveOnFirst.subList(0, 80).forEach(id -> backup.add(N1, id));
        liveOnSecond.forEach(id -> backup.add(N2, id));
        for (int cycle = 0; cycle < 3; cycle++) {
            SweepPlan plan = sweep(backup).plan();
            assertThat(plan.report().nodes()).extracting(NodeReport::verdict).containsOnly(Verdict.OTHER_CATALOGUE);
            assertThat(plan.trash().trashed()).isZero();
        }
        assertNothingLost();
        SweepPlan plan = sweep(backup).plan();
        plan.trash(plan.approvals("ann"));
        assertThat(sweep(backup).plan().report().nodes())
                .extracting(NodeReport::verdict)
                .doesNotContain(Verdict.OTHER_CATALOGUE);
    }

    @Test
    void catalogueThatStandsStillCannotJudgeWhatIsNewerThanItsNewestPiece() throws IOException {
        InMemoryCatalogue stale = new InMemoryCatalogue(PHOTOS, "db-1", fleet.time);
        Instant yearAgo = fleet.time.instant().minus(Duration.ofDays(400));
        liveOnFirst.subList(0, 60).forEach(id -> stale.add(N1, id, yearAgo));
        liveOnSecond.forEach(id -> stale.add(N2, id, yearAgo));
        sweep(stale).plan();
        SweepPlan plan = sweep(stale).plan();
        assertThat(plan.report().wouldTrash()).isZero();
        assertThat(plan.report().cutoff()).isEqualTo(yearAgo);
    }

    @Test
    void lateCommitIsSpared() throws IOException {
        sweep(catalogue).plan();
        List<PieceId> uploading = Fleet.ids(9, 10);
        Fleet.put(first, PHOTOS, uploading);
        fleet.time.advance(Duration.ofHours(60));
        touch();
        // The snapshot is taken before the commit, which comes two and a half days after the upload began.
        SweepReport report = sweep(catalogue).plan().trash();
        uploading.forEach(id -> catalogue.add(N1, id));
        assertThat(report.nodes().getFirst().spared(SpareReason.YOUNG)).isEqualTo(10);
        assertThat(Fleet.live(first, PHOTOS)).containsAll(uploading);
    }

    @Test
    void pieceThatIsPutAgainBetweenPlanAndTrashIsSpared() throws IOException {
        sweep(catalogue).plan();
        SweepPlan plan = sweep(catalogue).plan();
        PieceId again = garbage.getFirst();
        Fleet.put(first, PHOTOS, again);
        catalogue.add(N1, again);
        plan.trash();
        assertThat(Fleet.live(first, PHOTOS)).contains(again);
    }

    @Test
    void idsOfAnotherFormAreRefused() throws IOException {
        InMemoryCatalogue hex = new InMemoryCatalogue(PHOTOS, "db-1", fleet.time);
        liveOnFirst.forEach(
                id -> hex.add(N1, PieceId.of(id.toString().getBytes(java.nio.charset.StandardCharsets.US_ASCII))));
        assertThatThrownBy(() -> sweep(hex).plan()).hasMessageContaining("an id of 26 bytes for node n1");
        InMemoryCatalogue reversed = new InMemoryCatalogue(PHOTOS, "db-1", fleet.time);
        liveOnFirst.forEach(id -> reversed.add(N1, reversed(id)));
        liveOnSecond.forEach(id -> reversed.add(N2, reversed(id)));
        SweepPlan plan = sweep(reversed).plan();
        assertThat(plan.report().nodes()).extracting(NodeReport::verdict).containsOnly(Verdict.TOO_FEW_HITS);
        assertThat(plan.trash(plan.approvals("ann")).trashed()).isZero();
        assertNothingLost();
    }

    private static PieceId reversed(PieceId id) {
        byte[] bytes = id.bytes();
        for (int i = 0; i < bytes.length / 2; i++) {
            byte swapped = bytes[i];
            bytes[i] = bytes[bytes.length - 1 - i];
            bytes[bytes.length - 1 - i] = swapped;
        }
        return PieceId.of(bytes);
    }

    @Test
    void namesOfNodesMixedUpAreRefused() throws IOException {
        InMemoryCatalogue swapped = new InMemoryCatalogue(PHOTOS, "db-1", fleet.time);
        liveOnFirst.forEach(id -> swapped.add(N2, id));
        liveOnSecond.forEach(id -> swapped.add(N1, id));
        SweepPlan plan = sweep(swapped).plan();
        assertThat(plan.report().nodes()).extracting(NodeReport::verdict).containsOnly(Verdict.TOO_FEW_HITS);
        assertThat(plan.trash(plan.approvals("ann")).trashed()).isZero();
    }

    @Test
    void twoOwnersOnOneNodeAreSweptByTheirOwnCataloguesAlone() throws IOException {
        List<PieceId> videos = Fleet.ids(20, 50);
        Fleet.put(first, VIDEOS, videos);
        fleet.age();
        touch();
        sweep(catalogue).plan();
        sweep(catalogue).plan().trash();
        assertThat(Fleet.live(first, VIDEOS)).containsExactlyInAnyOrderElementsOf(videos);
    }

    @Test
    void nodeWithZeroLivePiecesIsSweptAfterAnApproval() throws IOException {
        liveOnSecond.forEach(id -> catalogue.release(N2, id));
        sweep(catalogue).plan();
        SweepPlan plan = sweep(catalogue).plan();
        NodeReport report = plan.report().nodes().get(1);
        assertThat(report.verdict()).isEqualTo(Verdict.EMPTY_FILTER);
        assertThat(report.wouldTrash()).isEqualTo(40);
        assertThat(plan.trash().nodes().get(1).trashed()).isZero();
        SweepPlan again = sweep(catalogue).plan();
        assertThat(again.trash(again.approvals("ann")).nodes().get(1).trashed()).isEqualTo(40);
    }

    @Test
    void nodeUnknownToTheCatalogueLosesNothingByItself() throws IOException {
        StorageNode stranger = fleet.node("stranger");
        Fleet.put(stranger, PHOTOS, Fleet.ids(30, 30));
        fleet.age();
        touch();
        for (int cycle = 0; cycle < 3; cycle++) {
            SweepReport report = Sweep.of(catalogue)
                    .nodes(List.of(stranger))
                    .time(fleet.time)
                    .plan()
                    .trash();
            assertThat(report.nodes().getFirst().verdict()).isEqualTo(Verdict.EMPTY_FILTER);
        }
        assertThat(Fleet.live(stranger, PHOTOS)).hasSize(30);
    }

    @Test
    void emptyCatalogueTrashesNothingEvenIfApproved() throws IOException {
        Catalogue empty = new InMemoryCatalogue(PHOTOS, "db-1", fleet.time);
        SweepPlan plan = sweep(empty).plan();
        assertThat(plan.trash(plan.approvals("ann")).trashed()).isZero();
        assertNothingLost();
    }

    @Test
    void trashedPieceThatIsReadAndStillKnownIsToldOf() throws Exception {
        PieceId lost = liveOnFirst.getFirst();
        sweep(catalogue).plan();
        catalogue.release(N1, lost);
        sweep(catalogue).plan().trash();
        // The row was deleted by mistake and is back; a reader wants the piece.
        catalogue.add(N1, lost);
        assertThat(first.get(PHOTOS, lost)).isPresent();
        assertThat(sweep(catalogue).empty().failures().get(N1)).contains("alarm");
        SweepReport report = sweep(catalogue).plan().trash();
        assertThat(report.note())
                .startsWith("alarm: 1 trashed pieces of node n1 were read")
                .contains("the first is " + lost + ", trashed by cycle 2");
        assertThat(first.alarms(PHOTOS)).isEmpty();
        assertNothingLost();
    }

    @Test
    void livePieceInTheTrashIsBroughtBackByTheNextCycle() throws Exception {
        PieceId lost = liveOnFirst.getFirst();
        sweep(catalogue).plan();
        catalogue.release(N1, lost);
        sweep(catalogue).plan().trash();
        assertThat(Fleet.live(first, PHOTOS)).doesNotContain(lost);
        catalogue.add(N1, lost);
        fleet.age();
        touch();
        SweepReport report = sweep(catalogue).plan().report();
        assertThat(report.note()).contains("1 live pieces lay in the trash of node n1 and 1 were brought back");
        assertNothingLost();
    }

    /** A replica that lags ten days behind its own clock, and one row dated in the future. */
    @Test
    void rowDatedInTheFutureDoesNotVoidTheGuardAgainstAStaleReplica() throws IOException {
        sweep(catalogue).plan();
        fleet.time.advance(Duration.ofDays(6));
        // So few that no brake would hold them back.
        List<PieceId> unseen = Fleet.ids(55, 3);
        Fleet.put(first, PHOTOS, unseen);
        fleet.time.advance(Duration.ofDays(4));
        catalogue.add(N2, liveOnSecond.getFirst(), Instant.parse("2099-01-01T00:00:00Z"));
        assertThat(sweep(catalogue).plan().trash().trashed()).isEqualTo(garbage.size());
        assertThat(Fleet.live(first, PHOTOS)).containsAll(unseen);
    }

    /** Nothing was added to the catalogue for ten days, while pieces came that no row names. */
    @Test
    void idleCatalogueIsJudgedUpToWhatAnOperatorVouchesFor() throws IOException {
        sweep(catalogue).plan();
        fleet.time.advance(Duration.ofDays(3));
        List<PieceId> orphans = Fleet.ids(56, 3);
        Fleet.put(first, PHOTOS, orphans);
        fleet.time.advance(Duration.ofDays(7));
        assertThat(sweep(catalogue).plan().report().wouldTrash())
                .as("a replica that lags would look like this")
                .isEqualTo(garbage.size());
        assertThat(sweep(catalogue).vouched(fleet.time.instant()).plan().trash().trashed())
                .isEqualTo(garbage.size() + 3L);
        assertNothingLost();
    }

    @Test
    void trashedPieceThatIsReadAndRightlyGoneEndsItsAlarmAtTheNextPlan() throws Exception {
        sweep(catalogue).plan();
        sweep(catalogue).plan().trash();
        assertThat(first.get(PHOTOS, garbage.getFirst())).isPresent();
        sweep(catalogue).plan();
        assertThat(first.alarms(PHOTOS)).isEmpty();
        sweep(catalogue).empty();
    }

    @Test
    void fleetLimitStopsWhatEachNodeWouldStillAllow() {
        sweep(catalogue).plan();
        SweepReport report =
                sweep(catalogue).set(SweepSettings.FLEET_LIMIT, 1).plan().trash();
        assertThat(report.trashed()).isZero();
        assertThat(report.note()).contains("fleet's limit of 1 %");
    }

    @Test
    void nodeThatFailsDoesNotStopTheOthers() throws IOException {
        sweep(catalogue).plan();
        java.nio.file.Files.write(
                fleet.path("n2").resolve("state/" + PHOTOS.folder() + "/books"), new byte[] {1, 2, 3});
        second.close();
        second = fleet.node("n2");
        SweepReport report = sweep(catalogue).plan().trash();
        assertThat(report.failures().get(N2)).contains("books of owner photos");
        assertThat(report.trashed()).isGreaterThan(0);
    }

    @Test
    void filtersThatDoNotFitAreRefusedSayingHowMuchIsNeeded() {
        Catalogue huge = new Changed(catalogue) {
            @Override
            Optional<Map<NodeId, Long>> counts(Snapshot snapshot) {
                return Optional.of(Map.of(N1, 5_000_000_000L));
            }
        };
        assertThatThrownBy(() -> sweep(huge).plan())
                .hasMessageContaining("need")
                .isInstanceOfSatisfying(
                        HoldfastException.class,
                        e -> assertThat(e.action()).contains("set sweep.filter-memory to at least"));
    }

    @Test
    void observersSeeEveryPieceOfTheScanOnce() {
        AtomicInteger seen = new AtomicInteger();
        AtomicInteger completed = new AtomicInteger();
        sweep(catalogue)
                .observe(new ScanObserver() {
                    @Override
                    public Catalogue.PieceSink range(int range) {
                        return (node, id, created) -> seen.incrementAndGet();
                    }

                    @Override
                    public void complete() {
                        completed.incrementAndGet();
                    }
                })
                .plan();
        assertThat(seen).hasValue(161);
        assertThat(completed).hasValue(1);
    }

    @Test
    void nonsenseIsRefused() {
        assertThatThrownBy(() -> Sweep.of(catalogue).plan()).hasMessageContaining("without nodes");
        assertThatThrownBy(() -> Sweep.of(catalogue).nodes(List.of(first, first)))
                .hasMessageContaining("named twice");
        assertThatThrownBy(() -> Sweep.of(catalogue).set(SweepSettings.FALSE_POSITIVES, "0.9"))
                .hasMessageContaining("0.0001 to 0.5");
    }

    /** Random catalogues and nodes over several cycles: no live piece is ever trashed, all garbage goes in the end. */
    @Test
    void whateverHappensBetweenCyclesNoLivePieceIsTrashed() throws Exception {
        Seeds.of(6).run((seed, random) -> {
            try (Fleet own = new Fleet(folder.resolve("seed-" + seed))) {
                StorageNode node = own.node("n1");
                InMemoryCatalogue known = new InMemoryCatalogue(PHOTOS, "db-1", own.time);
                List<PieceId> ids = Fleet.ids(seed, 60);
                List<PieceId> live = new ArrayList<>();
                for (int cycle = 1; cycle <= 5; cycle++) {
                    for (PieceId id : ids) {
                        if (random.nextInt(3) == 0) {
                            Fleet.put(node, PHOTOS, id);
                            if (!live.contains(id)) {
                                live.add(id);
                            }
                            known.add(N1, id);
                        } else if (random.nextInt(6) == 0 && live.remove(id)) {
                            known.release(N1, id);
                        }
                    }
                    own.time.advance(Duration.ofHours(random.nextInt(200)));
                    SweepPlan plan = Sweep.of(known)
                            .nodes(List.of(node))
                            .time(own.time)
                            .seeds(random::nextLong)
                            .plan();
                    plan.trash(plan.approvals("test"));
                    assertThat(Fleet.live(node, PHOTOS)).containsAll(live);
                }
            }
        });
    }

    private void assertNothingLost() throws IOException {
        assertThat(Fleet.live(first, PHOTOS)).containsAll(liveOnFirst);
        assertThat(Fleet.live(second, PHOTOS)).containsAll(liveOnSecond);
    }

    private static ScanObserver observer(AtomicReference<Throwable> told) {
        return new ScanObserver() {
            @Override
            public Catalogue.PieceSink range(int range) {
                return (node, id, created) -> {};
            }

            @Override
            public void aborted(Throwable cause) {
                told.set(cause);
            }
        };
    }

    @FunctionalInterface
    private interface Scan {
        void scan(Catalogue.Snapshot snapshot, int range, Catalogue.PieceSink sink) throws Exception;
    }

    private Catalogue scanning(Scan scan) {
        return new Changed(catalogue) {
            @Override
            void scan(Snapshot snapshot, int range, PieceSink sink) throws Exception {
                scan.scan(snapshot, range, sink);
            }
        };
    }

    /** A catalogue with something wrong with it. */
    private abstract static class Changed implements Catalogue {
        private final Catalogue real;

        Changed(Catalogue real) {
            this.real = real;
        }

        void scan(Snapshot snapshot, int range, PieceSink sink) throws Exception {
            snapshot.scan(range, sink);
        }

        Optional<Map<NodeId, Long>> counts(Snapshot snapshot) throws Exception {
            return snapshot.counts();
        }

        @Override
        public OwnerId owner() {
            return real.owner();
        }

        @Override
        public Snapshot open() throws Exception {
            Snapshot snapshot = real.open();
            return new Snapshot() {
                @Override
                public Instant takenAt() {
                    return snapshot.takenAt();
                }

                @Override
                public String incarnation() {
                    return snapshot.incarnation();
                }

                @Override
                public int ranges() {
                    return snapshot.ranges();
                }

                @Override
                public void scan(int range, PieceSink sink) throws Exception {
                    Changed.this.scan(snapshot, range, sink);
                }

                @Override
                public Optional<Map<NodeId, Long>> counts() throws Exception {
                    return Changed.this.counts(snapshot);
                }

                @Override
                public boolean contains(NodeId node, byte[] id) throws Exception {
                    return snapshot.contains(node, id);
                }
            };
        }
    }
}
