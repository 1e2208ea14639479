package io.holdfast.sweep.node;

import static io.holdfast.sweep.node.Fleet.PHOTOS;
import static io.holdfast.sweep.node.Fleet.VIDEOS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.Manifest;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StorageNodeTest {

    private static final List<PieceId> LIVE = Fleet.ids(1, 100);
    private static final List<PieceId> GARBAGE = Fleet.ids(2, 10);

    @TempDir(factory = MemoryFolder.class)
    private Path folder;

    private Fleet fleet;
    private StorageNode node;

    @BeforeEach
    void open() throws IOException {
        fleet = new Fleet(folder);
        node = fleet.node("n1");
        Fleet.put(node, PHOTOS, LIVE);
        Fleet.put(node, PHOTOS, GARBAGE);
        fleet.age();
    }

    @AfterEach
    void close() throws IOException {
        fleet.close();
    }

    @Test
    void aPieceBeyondTheLimitIsRefusedAndLeavesNothing() throws IOException {
        StorageNode small = fleet.add(
                fleet.builder("small").set(NodeSettings.PIECE_MAX, 1024L).open());
        PieceId id = LIVE.getFirst();
        assertThat(small.put(PHOTOS, id, new ByteArrayInputStream(new byte[1024])))
                .isEqualTo(PieceStore.Put.STORED);
        PieceId other = LIVE.getLast();
        assertThatThrownBy(() -> small.put(PHOTOS, other, new ByteArrayInputStream(new byte[1025])))
                .hasMessageContaining("1024 bytes");
        assertThat(Fleet.live(small, PHOTOS)).containsExactly(id);
        assertThat(fleet.path("small").resolve("temp")).isEmptyDirectory();
    }

    @Test
    void whatIsPutIsReadAndListedUntilItIsDeleted() throws IOException {
        PieceId id = LIVE.getFirst();
        assertThat(read(id)).isEqualTo(Fleet.content(id));
        assertThat(Fleet.put(node, PHOTOS, id)).isEqualTo(PieceStore.Put.ALREADY);
        assertThat(Fleet.live(node, PHOTOS)).hasSize(110).contains(id);
        assertThat(node.delete(PHOTOS, id)).isTrue();
        assertThat(node.delete(PHOTOS, id)).isFalse();
        assertThat(node.get(PHOTOS, id)).isEmpty();
        assertThat(node.owners()).containsExactly(PHOTOS);
    }

    @Test
    void firstCycleOnlyReports() throws IOException {
        NodeReport report = fleet.examine(node, PHOTOS, 1, LIVE);
        assertThat(report.verdict()).isEqualTo(Verdict.FIRST_CYCLE);
        assertThat(report.wouldTrash()).isBetween(8L, 10L);
        assertThat(report.wouldTrashBytes()).isEqualTo(report.wouldTrash() * 1600);
        assertThat(trash(1).trashed()).isZero();
        assertThat(Fleet.live(node, PHOTOS)).hasSize(110);
        fleet.examine(node, PHOTOS, 2, LIVE);
        assertThat(trash(2).trashed()).isEqualTo(10);
        assertThat(Fleet.live(node, PHOTOS)).containsExactlyInAnyOrderElementsOf(LIVE);
    }

    @Test
    void approvalMustNameExactlyWhatWasReported() throws IOException {
        NodeReport report = fleet.examine(node, PHOTOS, 1, LIVE);
        Approval right = Approval.of("ann", report);
        for (Approval wrong : List.of(
                new Approval("ann", new NodeId("n2"), 1, right.digest(), right.wouldTrash()),
                new Approval("ann", right.node(), 2, right.digest(), right.wouldTrash()),
                new Approval("ann", right.node(), 1, "00", right.wouldTrash()),
                new Approval("ann", right.node(), 1, right.digest(), right.wouldTrash() + 1))) {
            assertThat(node.trash(PHOTOS, 1, Optional.of(wrong), StorageNode.Progress.NONE)
                            .trashed())
                    .isZero();
        }
        assertThat(node.trash(PHOTOS, 1, Optional.of(right), StorageNode.Progress.NONE)
                        .trashed())
                .isEqualTo(report.wouldTrash());
    }

    @Test
    void youngPiecesAreSparedHoweverTheCutoffLies() throws IOException {
        List<PieceId> young = Fleet.ids(3, 10);
        Fleet.put(node, PHOTOS, young);
        fleet.time.advance(Duration.ofHours(71));
        NodeReport report = fleet.sweep(node, PHOTOS, 1, LIVE);
        assertThat(report.spared(SpareReason.YOUNG)).isEqualTo(10);
        assertThat(Fleet.live(node, PHOTOS)).containsAll(young);
    }

    @Test
    void cutoffAheadOfTheNodesClockDoesNotShortenTheWindow() throws IOException {
        List<PieceId> young = Fleet.ids(3, 10);
        Fleet.put(node, PHOTOS, young);
        LiveFilter filter = Fleet.filter(LIVE, 5);
        Instant now = fleet.time.instant();
        Manifest manifest = Manifest.of(
                PHOTOS, node.id(), 1, now, now.plus(Duration.ofDays(30)), "db-1", LIVE.size(), LIVE.size(), filter);
        NodeReport report = node.examine(manifest, filter, StorageNode.Progress.NONE);
        node.trash(PHOTOS, 1, Optional.of(Approval.of("test", report)), StorageNode.Progress.NONE);
        assertThat(Fleet.live(node, PHOTOS)).containsAll(young);
    }

    @Test
    void pieceThatIsPutAgainWhileDoomedIsSpared() throws IOException {
        fleet.examine(node, PHOTOS, 1, LIVE);
        NodeReport examined = fleet.examine(node, PHOTOS, 2, LIVE);
        PieceId doomed = GARBAGE.getFirst();
        assertThat(Fleet.put(node, PHOTOS, doomed)).isEqualTo(PieceStore.Put.ALREADY);
        NodeReport report = trash(2);
        assertThat(report.trashed()).isEqualTo(examined.wouldTrash() - 1);
        assertThat(report.spared(SpareReason.YOUNG)).isEqualTo(1);
        assertThat(Fleet.live(node, PHOTOS)).contains(doomed);
    }

    @Test
    void pieceThatIsPutAgainAfterItWasTrashedComesBackYoung() throws IOException {
        fleet.sweep(node, PHOTOS, 1, LIVE);
        PieceId again = trashed().getFirst();
        assertThat(Fleet.put(node, PHOTOS, again)).isEqualTo(PieceStore.Put.RESTORED);
        assertThat(read(again)).isEqualTo(Fleet.content(again));
        assertThat(fleet.sweep(node, PHOTOS, 2, LIVE).spared(SpareReason.YOUNG)).isEqualTo(1);
        assertThat(node.alarms(PHOTOS)).isEmpty();
    }

    @Test
    void readOfATrashedPieceBringsItBackAndRaisesAnAlarm() throws IOException {
        fleet.sweep(node, PHOTOS, 1, LIVE);
        PieceId wanted = trashed().getFirst();
        assertThat(read(wanted)).isEqualTo(Fleet.content(wanted));
        assertThat(node.alarms(PHOTOS)).hasSize(1).first().satisfies(alarm -> {
            assertThat(alarm.id()).isEqualTo(wanted);
            assertThat(alarm.cycle()).isEqualTo(1);
        });
        for (int day = 0; day < 10; day++) {
            fleet.time.advance(Duration.ofDays(1));
        }
        assertThatThrownBy(this::empty).hasMessageContaining("alarm");
        reopen();
        assertThat(node.alarms(PHOTOS)).as("after a restart").hasSize(1);
        node.endAlarm(node.alarms(PHOTOS).getFirst());
        empty();
    }

    @Test
    void twoOwnersOnOneNodeDoNotTouchEachOther() throws IOException {
        Fleet.put(node, VIDEOS, LIVE);
        Fleet.put(node, VIDEOS, Fleet.ids(9, 50));
        fleet.age();
        NodeReport report = fleet.sweep(node, PHOTOS, 1, LIVE);
        assertThat(report.examined()).isEqualTo(110);
        assertThat(Fleet.live(node, VIDEOS)).hasSize(150);
        assertThat(node.lastCycle(VIDEOS)).isZero();
        fleet.examine(node, VIDEOS, 1, LIVE);
        node.restore(VIDEOS, 1);
        assertThat(Fleet.live(node, PHOTOS)).hasSize(110 - (int) report.trashed());
    }

    @Test
    void restoreBringsEverythingBackAndVoidsTheCycleForGood() throws IOException {
        NodeReport report = fleet.sweep(node, PHOTOS, 1, LIVE);
        StorageNode.Restored restored = node.restore(PHOTOS, 1);
        assertThat(restored.restored()).isEqualTo(report.trashed());
        assertThat(Fleet.live(node, PHOTOS)).hasSize(110);
        // Renewed: the next cycle spares them for a whole window.
        assertThat(fleet.sweep(node, PHOTOS, 2, LIVE).spared(SpareReason.YOUNG)).isEqualTo(report.trashed());
        assertThatThrownBy(() -> trash(1)).hasMessageContaining("has not examined cycle 1");
    }

    @Test
    void restoreNeverReplacesALivePiece() throws IOException {
        fleet.sweep(node, PHOTOS, 1, LIVE);
        PieceId twin = trashed().getFirst();
        Path live = pieceFile(twin);
        Files.write(live, new byte[] {42});
        StorageNode.Restored restored = node.restore(PHOTOS, 1);
        assertThat(restored.keptLive()).isEqualTo(1);
        assertThat(Files.readAllBytes(live)).containsExactly(42);
    }

    @Test
    void permitIsForOneNodeAndAnHour() {
        Instant now = fleet.time.instant();
        for (EmptyPermit wrong : List.of(
                new EmptyPermit(new NodeId("n2"), PHOTOS, now),
                new EmptyPermit(node.id(), PHOTOS, now.minus(Duration.ofMinutes(61))),
                new EmptyPermit(node.id(), PHOTOS, now.plus(Duration.ofMinutes(61))))) {
            assertThatThrownBy(() -> node.empty(wrong)).isInstanceOf(HoldfastException.class);
        }
    }

    @Test
    void brakeIsNotEvadedBySmallSteps() throws IOException {
        fleet.examine(node, PHOTOS, 1, LIVE);
        List<PieceId> live = new ArrayList<>(LIVE);
        fleet.examine(node, PHOTOS, 2, live);
        assertThat(trash(2).trashed()).as("10 of 110").isEqualTo(10);
        fleet.time.advance(Duration.ofDays(5));
        live.subList(0, 5).clear();
        NodeReport second = fleet.examine(node, PHOTOS, 3, live);
        assertThat(second.wouldTrash()).isBetween(4L, 5L);
        assertThat(second.verdict()).isEqualTo(Verdict.BRAKED);
        assertThat(trash(3).trashed()).isZero();
        reopen();
        assertThat(fleet.examine(node, PHOTOS, 4, live).verdict())
                .as("a restart does not loosen it")
                .isEqualTo(Verdict.BRAKED);
        fleet.time.advance(Duration.ofDays(26));
        assertThat(fleet.examine(node, PHOTOS, 5, live).verdict())
                .as("30 days later the first step no longer counts")
                .isEqualTo(Verdict.READY);
    }

    @Test
    void emptyFilterNeedsAnOperator() throws IOException {
        LiveFilter filter = Fleet.filter(List.of(), 1);
        Manifest manifest = fleet.manifest(node.id(), PHOTOS, 1, List.of(), filter);
        NodeReport report = node.examine(manifest, filter, StorageNode.Progress.NONE);
        assertThat(report.verdict()).isEqualTo(Verdict.EMPTY_FILTER);
        assertThat(trash(1).trashed()).isZero();
        assertThat(node.trash(PHOTOS, 1, Optional.of(Approval.of("ann", report)), StorageNode.Progress.NONE)
                        .trashed())
                .isEqualTo(110);
    }

    @Test
    void fewerLivePiecesThanSignedIsRefusedAndNoApprovalHelps() throws IOException {
        List<PieceId> strangers = Fleet.ids(77, 100);
        NodeReport report = fleet.examine(node, PHOTOS, 1, strangers);
        assertThat(report.verdict()).isEqualTo(Verdict.TOO_FEW_HITS);
        assertThat(node.trash(PHOTOS, 1, Optional.of(Approval.of("ann", report)), StorageNode.Progress.NONE)
                        .trashed())
                .isZero();
    }

    @Test
    void knownLossesAndDeletesSinceTheSnapshotAreNotMissing() throws IOException {
        node.delete(PHOTOS, LIVE.getFirst());
        assertThat(fleet.examine(node, PHOTOS, 1, LIVE).verdict()).isEqualTo(Verdict.FIRST_CYCLE);
        reopen();
        assertThat(fleet.examine(node, PHOTOS, 2, LIVE).verdict())
                .as("a restart does not forget it")
                .isEqualTo(Verdict.READY);
        Files.delete(pieceFile(LIVE.getLast()));
        NodeReport report = fleet.examine(node, PHOTOS, 3, LIVE);
        assertThat(report.verdict()).isEqualTo(Verdict.TOO_FEW_HITS);
        assertThat(report.detail()).contains("1 live pieces are not here");
        node.knownLosses(PHOTOS, 1);
        assertThat(fleet.examine(node, PHOTOS, 4, LIVE).verdict()).isEqualTo(Verdict.READY);
    }

    @Test
    void staleForeignAndDoctoredManifestsAreRefused() throws IOException {
        LiveFilter filter = Fleet.filter(LIVE, 5);
        fleet.examine(node, PHOTOS, 7, LIVE);
        refused(fleet.manifest(node.id(), PHOTOS, 7, LIVE, filter), filter, "not newer");
        refused(fleet.manifest(node.id(), PHOTOS, 3, LIVE, filter), filter, "not newer");
        refused(fleet.manifest(new NodeId("n2"), PHOTOS, 8, LIVE, filter), filter, "for node n2");
        refused(fleet.manifest(node.id(), PHOTOS, 8, LIVE, filter), Fleet.filter(LIVE, 6), "digest");
        Manifest manifest = fleet.manifest(node.id(), PHOTOS, 8, LIVE, filter);
        fleet.time.advance(Duration.ofMinutes(11));
        refused(manifest, filter, "clocks");
        reopen();
        refused(fleet.manifest(node.id(), PHOTOS, 7, LIVE, filter), filter, "not newer");
    }

    private void refused(Manifest manifest, LiveFilter filter, String why) {
        assertThatThrownBy(() -> node.examine(manifest, filter, StorageNode.Progress.NONE))
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining(why);
    }

    @Test
    void filterSurvivesARestartAndTheCycleGoesOn() throws IOException {
        fleet.examine(node, PHOTOS, 1, LIVE);
        fleet.examine(node, PHOTOS, 2, LIVE);
        reopen();
        assertThat(trash(2).trashed()).isEqualTo(10);
    }

    @Test
    void cycleThatWasCutShortIsResumedAfterARestart() throws IOException {
        fleet.examine(node, PHOTOS, 1, LIVE);
        fleet.examine(node, PHOTOS, 2, LIVE);
        AtomicInteger moved = new AtomicInteger();
        reopen(step -> {
            if (step == NodeStep.TRASH_MOVED && moved.incrementAndGet() == 5) {
                throw new IllegalStateException("power cut");
            }
        });
        assertThatThrownBy(() -> trash(2)).hasMessage("power cut");
        reopen();
        assertThat(node.status().owners().getFirst().underWay()).isPresent();
        assertThat(node.resume(StorageNode.Progress.NONE)).hasSize(1);
        assertThat(Fleet.live(node, PHOTOS)).containsExactlyInAnyOrderElementsOf(LIVE);
        assertThat(trashed()).hasSize(10);
        assertThat(node.resume(StorageNode.Progress.NONE)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"retain", "filter-0000000000000002"})
    void damagedStoredCycleIsRefusedAtEveryByte(String name) throws IOException {
        fleet.examine(node, PHOTOS, 1, LIVE);
        fleet.examine(node, PHOTOS, 2, LIVE);
        Path stored = fleet.path("n1").resolve("state/" + PHOTOS.folder());
        byte[] retain = Files.readAllBytes(stored.resolve("retain"));
        byte[] filter = Files.readAllBytes(stored.resolve("filter-0000000000000002"));
        byte[] bytes = name.equals("retain") ? retain : filter;
        for (int at = 0; at < bytes.length; at += 3) {
            Files.write(stored.resolve("retain"), retain);
            Files.write(stored.resolve("filter-0000000000000002"), filter);
            byte[] damaged = bytes.clone();
            damaged[at] ^= 0x10;
            Files.write(stored.resolve(name), damaged);
            assertThatThrownBy(() -> trash(2))
                    .isInstanceOfSatisfying(
                            HoldfastException.class,
                            e -> assertThat(e.category()).isIn(Category.CORRUPT, Category.MISUSE));
            assertThat(stored.resolve("retain")).doesNotExist();
        }
        assertThat(Fleet.live(node, PHOTOS)).hasSize(110);
    }

    @Test
    void damagedBooksStopAllTrashing() throws IOException {
        fleet.examine(node, PHOTOS, 1, LIVE);
        Path file = fleet.path("n1").resolve("state/" + PHOTOS.folder() + "/books");
        byte[] bytes = Files.readAllBytes(file);
        bytes[10] ^= 1;
        Files.write(file, bytes);
        reopen();
        assertThatThrownBy(() -> fleet.examine(node, PHOTOS, 2, LIVE))
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining("books");
    }

    @Test
    void diskFullInTheTrashLeavesEveryPieceWhereItWas() throws IOException {
        fleet.examine(node, PHOTOS, 1, LIVE);
        fleet.examine(node, PHOTOS, 2, LIVE);
        AtomicInteger tried = new AtomicInteger();
        reopen(step -> {
            if (step == NodeStep.TRASH_PIECE && tried.incrementAndGet() > 7) {
                throw new IOException("No space left on device");
            }
        });
        NodeReport report = trash(2);
        assertThat(report.trashed()).isEqualTo(7);
        assertThat(report.failed()).isEqualTo(3);
        assertThat(Fleet.live(node, PHOTOS)).hasSize(103);
    }

    @Test
    void walkGivesUpOnABrokenDiskAndGoesOnLater() throws IOException {
        List<PieceId> more = Fleet.ids(8, 300);
        Fleet.put(node, PHOTOS, more);
        fleet.age();
        NodeReport examined = fleet.examine(node, PHOTOS, 1, LIVE);
        reopen(step -> {
            if (step == NodeStep.TRASH_PIECE) {
                throw new IOException("Input/output error");
            }
        });
        NodeReport report = node.trash(PHOTOS, 1, Optional.of(Approval.of("ann", examined)), StorageNode.Progress.NONE);
        assertThat(report.trashed()).isZero();
        assertThat(report.detail()).contains("stopped");
        reopen();
        assertThat(node.resume(StorageNode.Progress.NONE).getFirst().trashed()).isEqualTo(examined.wouldTrash());
    }

    @Test
    void unknownKindsAreSpared() throws IOException {
        Path pieces = fleet.path("n1").resolve("pieces/" + PHOTOS.folder());
        Path pair = pieces.resolve("aa");
        Files.createDirectories(pair);
        Files.writeString(pair.resolve("new-kind-of-file.v2"), "?");
        Files.writeString(pair.resolve("A".repeat(24)), "upper case is no name");
        Files.writeString(pieces.resolve("stray"), "?");
        Files.createDirectories(pieces.resolve("bb").resolve("b".repeat(23) + "a"));
        NodeReport report = fleet.sweep(node, PHOTOS, 1, LIVE);
        assertThat(report.spared(SpareReason.UNKNOWN_KIND)).isEqualTo(4);
        assertThat(pair.resolve("new-kind-of-file.v2")).exists();
        assertThat(pieces.resolve("stray")).exists();
        assertThat(pieces.resolve("bb").resolve("b".repeat(23) + "a")).exists();
    }

    @Test
    void symbolicLinksAreNeverFollowed() throws IOException {
        Path outside = folder.resolve("outside");
        Files.createDirectories(outside);
        Path precious = Files.writeString(outside.resolve("c".repeat(24)), "precious");
        Path pieces = fleet.path("n1").resolve("pieces/" + PHOTOS.folder());
        PieceId linked = PieceId.parse("zz" + "c".repeat(22) + "ca", 16);
        Files.createDirectories(pieceFile(linked).getParent());
        Files.createSymbolicLink(pieceFile(linked), precious);
        Files.deleteIfExists(pieces.resolve("zy"));
        Files.createSymbolicLink(pieces.resolve("zy"), outside);
        NodeReport report = fleet.sweep(node, PHOTOS, 1, LIVE);
        assertThat(report.spared(SpareReason.UNKNOWN_KIND)).isEqualTo(2);
        assertThatThrownBy(() -> node.get(PHOTOS, linked)).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> Fleet.put(node, PHOTOS, linked)).isInstanceOf(HoldfastException.class);
        PieceId below = PieceId.parse("zy" + "c".repeat(23) + "a", 16);
        assertThatThrownBy(() -> Fleet.put(node, PHOTOS, below)).hasMessageContaining("is not a folder");
        assertThat(Files.readString(precious)).isEqualTo("precious");
        Path link = Files.createSymbolicLink(folder.resolve("n9"), fleet.path("n1"));
        assertThatThrownBy(() -> StorageNode.at(link, "n1").open()).hasMessageContaining("symbolic link");
    }

    @ParameterizedTest
    @ValueSource(strings = {"../../etc", "..", "/etc/passwd", "a/b", "", "ü", "a\0b"})
    void hostileNamesAreRefused(String name) {
        assertThatThrownBy(() -> new io.holdfast.sweep.piece.OwnerId(name.equals("..") ? "../" : name))
                .isInstanceOf(HoldfastException.class);
        assertThatThrownBy(() -> PieceId.parse(name, 16)).isInstanceOf(HoldfastException.class);
        assertThat(new io.holdfast.sweep.piece.OwnerId("..").folder()).matches("[a-z2-7]{26}");
    }

    @Test
    void idsOfAnotherLengthAreRefused() {
        assertThatThrownBy(() -> node.put(PHOTOS, PieceId.of(new byte[15]), new ByteArrayInputStream(new byte[1])))
                .hasMessageContaining("a piece id of 15 bytes");
    }

    @Test
    void folderThatIsNoNodeIsNeverTakenOver() throws IOException {
        Path other = Files.createDirectories(folder.resolve("home"));
        Files.writeString(other.resolve("thesis.txt"), "…");
        assertThatThrownBy(() -> StorageNode.at(other, "n2").open()).hasMessageContaining("thesis.txt");
        assertThatThrownBy(() -> StorageNode.at(fleet.path("n1"), "n2").open())
                .hasMessageContaining("belongs to node n1");
        assertThatThrownBy(() -> StorageNode.at(fleet.path("n1"), "n1").open()).hasMessageContaining("open in another");
    }

    @Test
    void retentionOfZeroIsRefused() {
        assertThatThrownBy(() -> fleet.builder("n5").set(NodeSettings.TRASH_KEEP, Duration.ZERO))
                .hasMessage("setting sweep.node.trash-keep = '0ms' is not allowed; allowed: 1d to 3650d");
        assertThatThrownBy(() -> fleet.builder("n5").set(NodeSettings.SPARE_WINDOW, Duration.ZERO))
                .hasMessageContaining("sweep.node.spare-window");
    }

    @Test
    void failedPutLeavesNothingBehind() throws IOException {
        PieceId id = Fleet.ids(50, 1).getFirst();
        InputStream broken = new InputStream() {
            private int left = 1000;

            @Override
            public int read() throws IOException {
                throw new IOException("the sender is gone");
            }

            @Override
            public int read(byte[] into, int offset, int length) throws IOException {
                int count = Math.min(left, length);
                left -= count;
                return count == 0 ? read() : count;
            }
        };
        assertThatThrownBy(() -> node.put(PHOTOS, id, broken)).hasMessage("the sender is gone");
        assertThat(node.get(PHOTOS, id)).isEmpty();
        try (Stream<Path> left = Files.list(fleet.path("n1").resolve("temp"))) {
            assertThat(left).isEmpty();
        }
    }

    @Test
    void walkKeepsToItsLimit() throws IOException {
        LiveFilter filter = Fleet.filter(LIVE, 1);
        PieceStore store = new FilePieceStore(
                fleet.path("n1"),
                16,
                1L << 30,
                fleet.time,
                new StateFiles(FilePieceStore.Sync.NONE, NodeStep.Watch.NONE));
        RetainWalk walk = RetainWalk.examine(
                store,
                fleet.manifest(node.id(), PHOTOS, 1, LIVE, filter),
                filter,
                fleet.time.instant(),
                fleet.time,
                100,
                () -> false,
                io.holdfast.HolderId.newIncarnation("test"));
        Duration pauses = Duration.ZERO;
        while (!walk.isDone()) {
            pauses = pauses.plus(walk.step().next());
        }
        assertThat(pauses).isEqualTo(Duration.ofMillis(1100));
    }

    @Test
    void whyTellsLiveTrashedAndRestored() throws IOException {
        fleet.sweep(node, PHOTOS, 1, LIVE);
        PieceId id = trashed().getFirst();
        assertThat(node.why(LIVE.getFirst()).facts())
                .hasValueSatisfying(facts -> assertThat(facts.isLive()).isTrue());
        PieceFate fate = node.why(id);
        assertThat(fate.facts().orElseThrow().trashedBy()).contains(1L);
        assertThat(fate.record().orElseThrow().evidence()).contains("cycle 1 of photos for n1");
        node.restore(PHOTOS, 1);
        reopen();
        assertThat(node.why(id).isRestored()).isTrue();
        assertThat(node.why(Fleet.ids(99, 1).getFirst()).facts()).isEmpty();
    }

    private NodeReport trash(long cycle) throws IOException {
        return node.trash(PHOTOS, cycle, Optional.empty(), StorageNode.Progress.NONE);
    }

    private long empty() throws IOException {
        return node.empty(new EmptyPermit(node.id(), PHOTOS, fleet.time.instant()))
                .removed();
    }

    private void reopen() throws IOException {
        reopen(NodeStep.Watch.NONE);
    }

    private void reopen(NodeStep.Watch watch) throws IOException {
        node.close();
        node = fleet.add(fleet.builder("n1").watch(watch).open());
    }

    private byte[] read(PieceId id) throws IOException {
        try (InputStream in = node.get(PHOTOS, id).orElseThrow()) {
            return in.readAllBytes();
        }
    }

    private Path pieceFile(PieceId id) {
        String name = id.toString();
        return fleet.path("n1")
                .resolve("pieces/" + PHOTOS.folder() + "/" + name.substring(0, 2) + "/" + name.substring(2));
    }

    private List<PieceId> trashed() throws IOException {
        List<PieceId> found = new ArrayList<>();
        Path trash = fleet.path("n1").resolve("trash");
        try (Stream<Path> files = Files.walk(trash)) {
            files.filter(Files::isRegularFile)
                    .forEach(file -> found.add(
                            PieceId.parse("" + StateFiles.parent(file).getFileName() + file.getFileName(), 16)));
        }
        return found;
    }
}
