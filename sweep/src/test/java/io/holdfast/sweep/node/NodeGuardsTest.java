package io.holdfast.sweep.node;

import static io.holdfast.sweep.node.Fleet.PHOTOS;
import static io.holdfast.sweep.node.Fleet.VIDEOS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.Manifest;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.retain.SigningKey;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a node guards itself against: its own clock, its full disk, other owners, people who mistype. */
class NodeGuardsTest {

    private static final List<PieceId> LIVE = Fleet.ids(1, 100);
    private static final List<PieceId> GARBAGE = Fleet.ids(2, 10);
    private static final Instant NEVER = Instant.parse("2100-01-01T00:00:00Z");
    private static final SigningKey MANAGER = SigningKey.generate("manager-1");

    @TempDir(factory = MemoryFolder.class)
    private Path folder;

    private final AtomicBoolean diskFull = new AtomicBoolean();
    private Fleet fleet;
    private StorageNode node;

    @BeforeEach
    void open() throws IOException {
        fleet = new Fleet(folder);
        node = fleet.add(builder().open());
        Fleet.put(node, PHOTOS, LIVE);
    }

    private NodeBuilder builder() {
        return Fleet.onDiskThatFills(fleet.builder("n1"), diskFull::get).set(NodeSettings.BRAKE, 100);
    }

    private void reopen() throws IOException {
        node.close();
        node = fleet.add(builder().open());
    }

    @AfterEach
    void close() throws IOException {
        fleet.close();
    }

    private NodeAgent agent() {
        KeyRing ring = KeyRing.of(List.of(KeyRing.entry(MANAGER, KeyRing.Role.MANAGER, Instant.EPOCH, NEVER)));
        return new NodeAgent(node, ring, Runnable::run, fleet.time);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void pieceThatWasPutWhileTheClockWasAYearBehindIsSpared(boolean restart) throws IOException {
        fleet.age();
        Instant right = fleet.time.instant();
        fleet.time.setWall(right.minus(Duration.ofDays(365)));
        if (restart) {
            reopen();
        }
        Fleet.put(node, PHOTOS, GARBAGE);
        fleet.time.setWall(right.plusSeconds(1));
        if (restart) {
            reopen();
        }
        assertThat(fleet.examine(node, PHOTOS, 1, LIVE).wouldTrash()).isZero();
        fleet.age();
        assertThat(fleet.examine(node, PHOTOS, 2, LIVE).wouldTrash())
                .as("a spare window later the pieces are old by any clock")
                .isPositive();
    }

    @Test
    void clockThatWasAYearAheadAndIsSetBackLetsTheNodeBeSweptAgain() throws IOException {
        Fleet.put(node, PHOTOS, GARBAGE);
        fleet.age();
        Instant right = fleet.time.instant();
        fleet.time.setWall(right.plus(Duration.ofDays(365)));
        node.look();
        fleet.time.setWall(right.plusSeconds(1));
        assertThat(fleet.examine(node, PHOTOS, 1, LIVE).wouldTrash()).isZero();
        fleet.age();
        assertThat(fleet.examine(node, PHOTOS, 2, LIVE).wouldTrash())
                .as("a spare window after a manager's clock agreed")
                .isPositive();
    }

    /** Its first start was with a wrong clock, so it has never seen a later time. */
    @Test
    void pieceThatWasPutBeforeTheClockWasSetRightWhileTheNodeWasStoppedIsSpared() throws IOException {
        node.close();
        Instant right = fleet.time.instant();
        fleet.time.setWall(right.minus(Duration.ofDays(365)));
        node = fleet.node("n2");
        Fleet.put(node, PHOTOS, GARBAGE);
        node.close();
        fleet.time.setWall(right.plusSeconds(1));
        node = fleet.node("n2");
        assertThat(fleet.examine(node, PHOTOS, 1, List.of()).wouldTrash()).isZero();
        fleet.age();
        assertThat(fleet.examine(node, PHOTOS, 2, List.of()).wouldTrash()).isPositive();
    }

    /** A manager's clock has agreed with the node's: what it put under that clock has an age that is known. */
    @Test
    void nodeThatWasStoppedForADayAfterAManagersClockAgreedIsSweptAtOnce() throws IOException {
        Fleet.put(node, PHOTOS, GARBAGE);
        fleet.age();
        fleet.examine(node, PHOTOS, 1, LIVE);
        node.close();
        fleet.time.advance(Duration.ofDays(1));
        node = fleet.add(builder().open());
        assertThat(fleet.examine(node, PHOTOS, 2, LIVE).wouldTrash()).isPositive();
    }

    /** One process opens the node to put, another to run a cycle: no manager's clock agrees in the runs that put. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3, 7})
    void nodeThatIsOpenOnlyToPutAndForItsCyclesIsSwept(int days) throws IOException {
        node.close();
        List<PieceId> garbage = Fleet.ids(8, 200);
        long found = 0;
        for (int round = 0; round < 10; round++) {
            node = fleet.add(builder().open());
            Fleet.put(node, PHOTOS, garbage.subList(20 * round, 20 * round + 20));
            node.close();
            fleet.time.advance(Duration.ofDays(days));
            node = fleet.add(builder().open());
            found = fleet.examine(node, PHOTOS, round + 1, LIVE).wouldTrash();
            node.close();
            fleet.time.advance(Duration.ofDays(days));
        }
        assertThat(found).as("garbage of the runs but for the last few").isGreaterThan(80);
    }

    @Test
    void refusedExaminationDoesNotUseUpTheDryRun() throws IOException {
        Fleet.put(node, PHOTOS, GARBAGE);
        fleet.age();
        assertThat(fleet.examine(node, PHOTOS, 1, Fleet.ids(77, 100)).verdict()).isEqualTo(Verdict.TOO_FEW_HITS);
        assertThat(fleet.examine(node, PHOTOS, 2, LIVE).verdict()).isEqualTo(Verdict.FIRST_CYCLE);
    }

    @Test
    void examinationOfAnEmptyNodeDoesNotUseUpTheDryRun() throws IOException {
        StorageNode fresh = fleet.node("n2");
        fleet.examine(fresh, PHOTOS, 1, List.of());
        Fleet.put(fresh, PHOTOS, LIVE);
        fleet.age();
        assertThat(fleet.examine(fresh, PHOTOS, 2, LIVE).verdict()).isEqualTo(Verdict.FIRST_CYCLE);
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 0, 7, Long.MAX_VALUE})
    void restoreOfACycleThatWasNeverGivenIsRefused(long cycle) throws IOException {
        Fleet.put(node, PHOTOS, GARBAGE);
        fleet.age();
        fleet.examine(node, PHOTOS, 1, LIVE);
        assertThatThrownBy(() -> node.restore(PHOTOS, cycle)).hasMessageContaining("never");
        assertThat(fleet.sweep(node, PHOTOS, 7, LIVE).trashed()).isPositive();
    }

    private NodeReport examineAfterFailOver(long cycle, String incarnation) throws IOException {
        LiveFilter filter = Fleet.filter(LIVE, cycle);
        Instant now = fleet.time.instant();
        Manifest manifest =
                Manifest.of(PHOTOS, node.id(), cycle, now, now, incarnation, LIVE.size(), LIVE.size(), filter);
        return node.examine(manifest, filter, StorageNode.Progress.NONE);
    }

    @Test
    void catalogueThatAnOperatorCallsTheSameIsSweptByTheNextCycle() throws IOException {
        Fleet.put(node, PHOTOS, GARBAGE);
        fleet.age();
        fleet.examine(node, PHOTOS, 1, LIVE);
        assertThatThrownBy(() -> node.sameCatalogue(PHOTOS, 1)).hasMessageContaining("no cycle 1");
        assertThat(examineAfterFailOver(2, "db-2").verdict()).isEqualTo(Verdict.OTHER_CATALOGUE);
        node.sameCatalogue(PHOTOS, 2);
        assertThat(Fleet.live(node, PHOTOS)).as("nothing is carried out by it").containsAll(GARBAGE);
        reopen();
        assertThat(examineAfterFailOver(3, "db-2").verdict()).isEqualTo(Verdict.READY);
        assertThat(examineAfterFailOver(4, "db-3").verdict()).isEqualTo(Verdict.OTHER_CATALOGUE);
    }

    @Test
    void cycleNumberThatWouldEndTheNumberingIsRefused() throws IOException {
        LiveFilter filter = Fleet.filter(LIVE, 5);
        Manifest manifest = fleet.manifest(node.id(), PHOTOS, 1L << 62, LIVE, filter);
        assertThatThrownBy(() -> node.examine(manifest, filter, StorageNode.Progress.NONE))
                .isInstanceOf(HoldfastException.class);
        assertThat(node.lastCycle(PHOTOS)).isZero();
    }

    /** Found in a run: the restore waited for the walk, which took the other owner's number for its own. */
    @Test
    void restoreOfOneOwnerDoesNotStopTheWalkOfAnother() throws Exception {
        Fleet.put(node, PHOTOS, GARBAGE);
        Fleet.put(node, VIDEOS, LIVE);
        Fleet.put(node, VIDEOS, GARBAGE);
        fleet.age();
        fleet.examine(node, VIDEOS, 1, LIVE);
        fleet.examine(node, VIDEOS, 2, LIVE);
        node.close();
        AtomicBoolean first = new AtomicBoolean(true);
        StorageNode[] watched = new StorageNode[1];
        watched[0] = fleet.add(fleet.builder("n1")
                .set(NodeSettings.BRAKE, 100)
                .watch(step -> {
                    if (step == NodeStep.TRASH_PIECE && first.getAndSet(false)) {
                        restoreBeside(watched[0]);
                    }
                })
                .open());
        node = watched[0];
        NodeReport report = fleet.sweep(node, PHOTOS, 2, LIVE);
        assertThat(report.detail()).isEqualTo("done");
        assertThat(report.trashed()).isEqualTo(report.wouldTrash());
    }

    private static void restoreBeside(StorageNode node) {
        Thread restoring = Thread.ofPlatform().daemon().start(() -> {
            try {
                node.restore(VIDEOS, 2);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        try {
            restoring.join(Duration.ofMillis(500));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void questionAboutAnOwnerThatIsNotHereLeavesNothingBehind() throws IOException {
        NodeAgent agent = agent();
        Path state = fleet.path("n1").resolve("state");
        long before = files(state);
        for (int i = 0; i < 10; i++) {
            assertThat(agent.progress(new OwnerId("stranger-" + i), 1).state()).isEqualTo(NodeProgress.State.UNKNOWN);
        }
        assertThat(files(state)).isEqualTo(before);
    }

    /** A row that comes back names a piece that is already here: its writer renews it before the commit. */
    @Test
    void pieceThatIsRenewedBeforeItsRowIsCommittedIsSparedAndComesBackFromTheTrash() throws IOException {
        Fleet.put(node, PHOTOS, GARBAGE);
        fleet.age();
        PieceId wanted = GARBAGE.getFirst();
        assertThat(node.renew(PHOTOS, wanted)).isTrue();
        fleet.sweep(node, PHOTOS, 1, LIVE);
        assertThat(Fleet.live(node, PHOTOS)).contains(wanted);
        PieceId trashed = GARBAGE.stream().filter(this::isTrashed).findFirst().orElseThrow();
        assertThat(node.renew(PHOTOS, trashed)).isTrue();
        assertThat(Fleet.live(node, PHOTOS)).contains(trashed);
        fleet.sweep(node, PHOTOS, 2, LIVE);
        assertThat(Fleet.live(node, PHOTOS)).as("renewed, so young").contains(wanted, trashed);
        assertThat(node.renew(PHOTOS, Fleet.ids(9, 1).getFirst()))
                .as("not here: it must be put")
                .isFalse();
    }

    /** The stored filter may be of gigabytes, and a manager asks every few seconds. */
    @Test
    void questionHowTheNodeStandsReadsNoFilter() throws IOException {
        fleet.age();
        fleet.examine(node, PHOTOS, 1, LIVE);
        Path state = fleet.path("n1").resolve("state/" + PHOTOS.folder());
        try (var filters = Files.newDirectoryStream(state, "filter-*")) {
            for (Path filter : filters) {
                Files.writeString(filter, "no filter any more");
            }
        }
        assertThat(agent().progress(PHOTOS, 1).state()).isEqualTo(NodeProgress.State.EXAMINED);
        assertThat(agent().progress(PHOTOS, 2).state()).isEqualTo(NodeProgress.State.UNKNOWN);
        assertThat(node.status().owners()).hasSize(1);
    }

    @Test
    void restoreStopsAnExaminationInsteadOfWaitingForIt() throws IOException {
        Fleet.put(node, PHOTOS, GARBAGE);
        fleet.age();
        fleet.examine(node, PHOTOS, 1, LIVE);
        fleet.sweep(node, PHOTOS, 2, LIVE);
        LiveFilter filter = Fleet.filter(LIVE, 3);
        Manifest manifest = fleet.manifest(node.id(), PHOTOS, 3, LIVE, filter);
        AtomicReference<Thread> restoring = new AtomicReference<>();
        assertThatThrownBy(() -> node.examine(manifest, filter, (examined, done, folders) -> {
                    if (restoring.get() == null) {
                        restoring.set(beside(() -> node.restore(PHOTOS, 2)));
                        await(restoring.get(), Thread.State.WAITING);
                    }
                }))
                .hasMessageContaining("a restore came in between");
        await(restoring.get(), Thread.State.TERMINATED);
        assertThat(Fleet.live(node, PHOTOS)).containsAll(GARBAGE);
    }

    @Test
    void permitToEmptyThatLapsedWhileItWaitedForAWalkIsRefused() throws IOException {
        fleet.age();
        LiveFilter filter = Fleet.filter(LIVE, 3);
        Manifest manifest = fleet.manifest(node.id(), PHOTOS, 1, LIVE, filter);
        List<Throwable> thrown = new CopyOnWriteArrayList<>();
        AtomicReference<Thread> emptying = new AtomicReference<>();
        node.examine(manifest, filter, (examined, done, folders) -> {
            if (emptying.get() == null) {
                EmptyPermit permit = new EmptyPermit(node.id(), PHOTOS, fleet.time.instant());
                Thread thread = beside(() -> node.empty(permit));
                thread.setUncaughtExceptionHandler((t, e) -> thrown.add(e));
                emptying.set(thread);
                await(thread, Thread.State.WAITING);
                fleet.time.advance(Duration.ofHours(2));
            }
        });
        await(emptying.get(), Thread.State.TERMINATED);
        assertThat(thrown).singleElement().asString().contains("permit to empty");
    }

    /** Something that may throw. */
    private interface Work {
        void run() throws IOException;
    }

    private static Thread beside(Work work) {
        return Thread.ofPlatform().daemon().start(() -> {
            try {
                work.run();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    private static void await(Thread thread, Thread.State state) {
        while (thread.getState() != state && thread.getState() != Thread.State.TERMINATED) {
            Thread.onSpinWait();
        }
    }

    private static long files(Path folder) throws IOException {
        try (var all = Files.list(folder)) {
            return all.count();
        }
    }

    @Test
    void manifestForAnotherNodeOrAnOldCycleIsRefusedBeforeItsFilterIsTaken() throws IOException {
        fleet.age();
        fleet.examine(node, PHOTOS, 3, LIVE);
        LiveFilter filter = Fleet.filter(LIVE, 5);
        NodeAgent agent = agent();
        for (Manifest wrong : List.of(
                signedBy(fleet.manifest(new NodeId("n2"), PHOTOS, 4, LIVE, filter)),
                signedBy(fleet.manifest(node.id(), PHOTOS, 3, LIVE, filter)))) {
            Signed signed = MANAGER.sign(wrong.encode());
            assertThatThrownBy(() -> agent.incoming(signed).close()).isInstanceOf(HoldfastException.class);
        }
        Signed late = MANAGER.sign(
                signedBy(fleet.manifest(node.id(), PHOTOS, 4, LIVE, filter)).encode());
        fleet.time.advance(Duration.ofHours(1));
        assertThatThrownBy(() -> agent.incoming(late).close()).isInstanceOf(HoldfastException.class);
    }

    private static Manifest signedBy(Manifest manifest) {
        return manifest.signedBy("manager-1");
    }

    @Test
    void trashedPieceIsReadThoughTheDiskIsFull() throws IOException {
        Fleet.put(node, PHOTOS, GARBAGE);
        fleet.age();
        fleet.sweep(node, PHOTOS, 1, LIVE);
        PieceId wanted = GARBAGE.stream().filter(this::isTrashed).findFirst().orElseThrow();
        diskFull.set(true);
        try (InputStream in = node.get(PHOTOS, wanted).orElseThrow()) {
            assertThat(in.readAllBytes()).isEqualTo(Fleet.content(wanted));
        }
        assertThat(node.alarms(PHOTOS))
                .as("kept in memory until it can be written")
                .hasSize(1);
    }

    private boolean isTrashed(PieceId id) {
        try {
            return node.why(id).facts().filter(facts -> !facts.isLive()).isPresent();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
