package io.holdfast.sweep.node;

import static io.holdfast.sweep.node.Fleet.PHOTOS;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.Built;
import io.holdfast.sweep.retain.Manifest;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A piece is deleted for good only when two cycles agree on it. */
class EmptyingTest {

    private static final List<PieceId> LIVE = Fleet.ids(1, 100);
    private static final List<PieceId> GARBAGE = Fleet.ids(2, 10);

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
        Fleet.put(node, PHOTOS, GARBAGE);
        fleet.age();
        fleet.examine(node, PHOTOS, 1, LIVE);
    }

    private NodeBuilder builder() {
        return Fleet.onDiskThatFills(fleet.builder("n1"), diskFull::get).set(NodeSettings.BRAKE, 100);
    }

    @AfterEach
    void close() throws IOException {
        fleet.close();
    }

    private void days(int count) {
        fleet.time.advance(Duration.ofDays(count));
    }

    private long empty() throws IOException {
        return node.empty(new EmptyPermit(node.id(), PHOTOS, fleet.time.instant()))
                .removed();
    }

    /** A filter that answers to nothing by chance, built by somebody. */
    private NodeReport cycle(long cycle, List<PieceId> live, Built builder) throws IOException {
        NodeReport report = examine(cycle, live, builder);
        return node.trash(PHOTOS, cycle, Optional.of(Approval.of("ann", report)), StorageNode.Progress.NONE);
    }

    private NodeReport examine(long cycle, List<PieceId> live, Built builder) throws IOException {
        LiveFilter filter = Fleet.sharpFilter(live, cycle);
        Manifest manifest =
                fleet.manifest(node.id(), PHOTOS, cycle, live, filter).builtBy(builder);
        return node.examine(manifest, filter, StorageNode.Progress.NONE);
    }

    private long inTrash() throws IOException {
        long count = 0;
        for (PieceId id : List.copyOf(GARBAGE)) {
            count += node.why(id).facts().filter(facts -> !facts.isLive()).isPresent() ? 1 : 0;
        }
        return count;
    }

    @Test
    void trashGoesWithTheFirstReleasedFilterThatIsAWeekYoungerAndMissesItAndNotBefore() throws IOException {
        assertThat(cycle(2, LIVE, Built.AGREED).trashed()).isEqualTo(10);
        days(6);
        cycle(3, LIVE, Built.AGREED);
        assertThat(empty()).as("the snapshot is six days younger").isZero();
        days(2);
        assertThat(empty())
                .as("old by the clock, and no snapshot a week younger")
                .isZero();
        NodeReport fourth = examine(4, LIVE, Built.AGREED);
        assertThat(empty()).as("examined, not released").isZero();
        node.trash(PHOTOS, 4, Optional.of(Approval.of("ann", fourth)), StorageNode.Progress.NONE);
        assertThat(inTrash()).isEqualTo(10);
        assertThat(empty()).isEqualTo(10);
        assertThat(inTrash()).isZero();
        assertThat(node.status().owners().getFirst().trash()).isEmpty();
        assertThat(node.get(PHOTOS, GARBAGE.getFirst())).isEmpty();
    }

    /** A filter that lacked ten live pieces trashed them; the next one has them. */
    @Test
    void pieceThatALaterFilterAnswersToStaysAndIsReportedAndCountsAsPresent() throws IOException {
        List<PieceId> wronged = LIVE.subList(0, 10);
        cycle(2, LIVE.subList(10, 100), Built.AGREED);
        days(8);
        NodeReport report = examine(3, LIVE, Built.AGREED);
        assertThat(report.verdict()).as("in the trash is not lost").isEqualTo(Verdict.READY);
        assertThat(report.suspects()).extracting(Suspect::id).containsExactlyInAnyOrderElementsOf(wronged);
        node.trash(PHOTOS, 3, Optional.empty(), StorageNode.Progress.NONE);
        assertThat(empty()).isEqualTo(10);
        for (Suspect suspect : report.suspects()) {
            assertThat(node.rescue(PHOTOS, suspect)).isTrue();
            assertThat(node.rescue(PHOTOS, suspect)).as("again").isFalse();
        }
        assertThat(Fleet.live(node, PHOTOS)).containsExactlyInAnyOrderElementsOf(LIVE);
    }

    @Test
    void filterOfTheSameSoleBuilderConfirmsNothing() throws IOException {
        cycle(2, LIVE, new Built("key thief"));
        days(8);
        cycle(3, LIVE, new Built("key thief"));
        assertThat(empty()).isZero();
        cycle(4, LIVE, new Built("key honest"));
        assertThat(empty()).isEqualTo(10);
    }

    @Test
    void filterOfARestoredCycleConfirmsNothing() throws IOException {
        cycle(2, LIVE, Built.AGREED);
        days(8);
        cycle(3, LIVE, Built.AGREED);
        node.restore(PHOTOS, 3);
        assertThat(empty()).isZero();
    }

    /** What the walk moves before its disk breaks does not count from its beginning. */
    @Test
    void trashOfAWalkThatFailedIsKeptAWeekFromTheNextCycle() throws IOException {
        node.close();
        AtomicInteger trashed = new AtomicInteger();
        node = fleet.add(fleet.builder("n1")
                .set(NodeSettings.BRAKE, 100)
                .watch(step -> {
                    if (step == NodeStep.TRASH_PIECE && trashed.incrementAndGet() == 5) {
                        days(3);
                    }
                    if (step == NodeStep.TRASH_PIECE && trashed.get() > 10 && trashed.get() < 1000) {
                        throw new IOException("the disk is broken");
                    }
                })
                .open());
        Fleet.put(node, PHOTOS, Fleet.ids(3, 200));
        fleet.age();
        NodeReport failed = cycle(2, LIVE, Built.AGREED);
        assertThat(failed.detail()).startsWith("stopped");
        trashed.set(1000);
        days(5);
        cycle(3, LIVE, Built.AGREED);
        assertThat(empty()).as("five days after the last piece was trashed").isZero();
        days(8);
        cycle(4, LIVE, Built.AGREED);
        assertThat(empty()).isPositive();
    }

    /** More suspects than a node may tell of lie in the trash of the oldest cycle. */
    @Test
    void suspectsOfALaterCycleAreToldOfThoughAnEarlierHasMoreThanFit() throws IOException {
        List<PieceId> first = Fleet.ids(4, Suspect.MOST + 500);
        List<PieceId> second = Fleet.ids(5, 300);
        Fleet.put(node, PHOTOS, first);
        cycle(2, LIVE, Built.AGREED);
        fleet.age();
        cycle(3, LIVE, Built.AGREED);
        Fleet.put(node, PHOTOS, second);
        fleet.age();
        cycle(4, LIVE, Built.AGREED);
        List<PieceId> all = Stream.of(LIVE, first, second).flatMap(List::stream).toList();
        List<Suspect> told = examine(5, all, Built.AGREED).suspects();
        assertThat(told).hasSize(Suspect.MOST);
        assertThat(told).as("of each cycle").extracting(Suspect::cycle).contains(3L, 4L);
    }

    @Test
    void clockThatJumpsAMonthAtEachLookEmptiesNothingEarly() throws IOException {
        cycle(2, LIVE, Built.AGREED);
        Instant right = fleet.time.instant();
        for (int look = 1; look <= 10; look++) {
            fleet.time.setWall(right.plus(Duration.ofDays(30L * look)));
            node.look();
            assertThat(empty()).isZero();
            // Even a manager whose clock is as wrong, and whose catalogue agrees, finds nothing that is old enough.
            cycle(2 + look, LIVE, Built.AGREED);
            assertThat(empty()).isZero();
        }
        assertThat(inTrash()).isEqualTo(10);
    }

    @Test
    void trashIsEmptiedThoughTheDiskIsFull() throws IOException {
        cycle(2, LIVE, Built.AGREED);
        days(8);
        cycle(3, LIVE, Built.AGREED);
        diskFull.set(true);
        assertThat(empty()).isEqualTo(10);
        diskFull.set(false);
        assertThat(empty()).isZero();
        assertThat(node.status().owners().getFirst().trash()).isEmpty();
    }

    /** The layout of 0.1: the time that was observed in place of who built the filter, and no deletes. */
    @Test
    void booksOfTheFirstVersionAreRead() throws IOException {
        node.close();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(1);
            out.writeLong(7);
            out.writeUTF("db-1");
            out.writeBoolean(true);
            out.writeLong(0);
            out.writeLong(0);
            out.writeInt(0);
            out.writeInt(1);
            out.writeLong(5);
            out.writeLong(fleet.time.instant().toEpochMilli());
            out.writeLong(1234);
            out.writeInt(1);
            out.writeLong(3);
            out.writeInt(0);
        }
        CRC32C crc = new CRC32C();
        crc.update(bytes.toByteArray());
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeLong(crc.getValue());
        }
        Files.write(fleet.path("n1").resolve("state/" + PHOTOS.folder() + "/books"), bytes.toByteArray());
        node = fleet.add(builder().open());
        assertThat(node.lastCycle(PHOTOS)).isEqualTo(7);
        assertThat(node.status().owners().getFirst().trash())
                .extracting(NodeStatus.TrashOfCycle::cycle)
                .containsExactly(5L);
    }
}
