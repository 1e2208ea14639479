package io.holdfast.sweep.node;

import static io.holdfast.sweep.node.Fleet.PHOTOS;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sweep.PieceId;
import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.KillPoint;
import io.holdfast.testkit.Seeds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * kill -9 of a storage node at each point of put, trash, restore and empty. After each, another process opens the node
 * and finds: every piece that was acknowledged or is live, whole; nothing half there; nothing at two places; and the
 * interrupted work can be done to its end.
 */
class NodeCrashIT {

    private static final List<PieceId> LIVE = Fleet.ids(1, 24);
    private static final List<PieceId> GARBAGE = Fleet.ids(2, 8);
    private static final List<PieceId> NEW = Fleet.ids(3, 3);

    enum Work {
        PUT,
        TRASH,
        RESTORE,
        EMPTY
    }

    @TempDir
    private Path folder;

    @Test
    void killAtEveryStepLosesNoLivePieceAndLeavesNothingHalfThere() throws Exception {
        Map<Work, KillPoint.Census> points = new HashMap<>();
        for (Work work : Work.values()) {
            KillPoint.Census census = new KillPoint.Census();
            Path path = folder.resolve("census-" + work);
            work(path, work, prepare(path, work), census, line -> {});
            points.put(work, census);
        }
        Set<String> reached = new HashSet<>();
        points.values().forEach(census -> reached.addAll(census.counts().keySet()));
        assertThat(reached).as("every named step is killed at").hasSize(NodeStep.values().length);
        Path archive = archiveOfClasses();
        Seeds.of(200).twoAtATime().run((seed, random) -> {
            Work work = Work.values()[(int) (seed % Work.values().length)];
            kill(
                    folder.resolve("seed-" + seed),
                    archive,
                    work,
                    draw(Objects.requireNonNull(points.get(work)), seed, random));
        });
    }

    /** The children load the same few classes over and over: an archive of them halves the time of the test. */
    private Path archiveOfClasses() throws IOException {
        Path archive = folder.resolve("classes.jsa");
        Path path = folder.resolve("archive");
        try (ChildJvm child = ChildJvm.of(Child.class)
                .arguments(path, Work.TRASH, prepare(path, Work.TRASH).toEpochMilli())
                .options("-XX:ArchiveClassesAtExit=" + archive, "-Xlog:cds=off", "-Xlog:cds+dynamic=off")
                .launch()) {
            child.awaitExit();
        }
        return archive;
    }

    /** Each named point alike, whichever time it is reached. */
    private static KillPoint draw(KillPoint.Census census, long seed, RandomGenerator random) {
        List<String> names = List.copyOf(census.counts().keySet());
        String name = names.get((int) (seed / Work.values().length % names.size()));
        return KillPoint.at(name, 1 + random.nextInt(census.counts().getOrDefault(name, 1)));
    }

    private static void kill(Path path, Path archive, Work work, KillPoint point) throws Exception {
        Instant now = prepare(path, work);
        Set<PieceId> acknowledged = new HashSet<>(LIVE);
        try (ChildJvm child = ChildJvm.of(Child.class)
                .arguments(path, work, now.toEpochMilli())
                .killAt(point)
                .options("-XX:SharedArchiveFile=" + archive, "-Xlog:cds=off", "-Xlog:cds+dynamic=off")
                .launch()) {
            for (String line = child.readLine(); line != null; line = child.readLine()) {
                acknowledged.add(PieceId.parse(line, 16));
            }
            child.awaitKilled();
        }
        try (Fleet fleet = new Fleet(path)) {
            fleet.time.setWall(now);
            StorageNode node =
                    fleet.add(fleet.builder("n1").set(NodeSettings.BRAKE, 100).open());
            verify(path, node, acknowledged);
            finish(fleet, node, work);
            verify(path, node, acknowledged);
            Set<PieceId> left = new HashSet<>(Fleet.live(node, PHOTOS));
            switch (work) {
                case PUT, RESTORE -> assertThat(left).containsAll(GARBAGE);
                case TRASH, EMPTY -> assertThat(left).doesNotContainAnyElementsOf(GARBAGE);
            }
            if (work == Work.EMPTY) {
                assertThat(files(path.resolve("n1/trash"))).isEmpty();
            }
        } catch (AssertionError e) {
            throw new AssertionError(work + ", " + point + ": " + e.getMessage(), e);
        }
    }

    private static void finish(Fleet fleet, StorageNode node, Work work) throws IOException {
        switch (work) {
            case PUT -> Fleet.put(node, PHOTOS, NEW);
            case TRASH -> {
                node.resume(StorageNode.Progress.NONE);
                // Killed before the release: the cycle is lost, and the next one does its work.
                fleet.examine(node, PHOTOS, 3, LIVE);
                node.trash(PHOTOS, 3, Optional.empty(), StorageNode.Progress.NONE);
            }
            case RESTORE -> node.restore(PHOTOS, 2);
            case EMPTY -> node.empty(new EmptyPermit(node.id(), PHOTOS, fleet.time.instant()));
        }
    }

    private static void verify(Path path, StorageNode node, Set<PieceId> acknowledged) throws IOException {
        Map<PieceId, Path> found = new HashMap<>();
        for (String part : List.of("n1/pieces", "n1/trash")) {
            for (Path file : files(path.resolve(part))) {
                PieceId id = PieceId.parse("" + StateFiles.parent(file).getFileName() + file.getFileName(), 16);
                assertThat(Files.readAllBytes(file)).as("whole").isEqualTo(Fleet.content(id));
                assertThat(found.put(id, file)).as("at one place").isNull();
            }
        }
        assertThat(files(path.resolve("n1/temp"))).isEmpty();
        assertThat(Fleet.live(node, PHOTOS)).containsAll(acknowledged);
    }

    private static List<Path> files(Path path) throws IOException {
        try (Stream<Path> files = Files.walk(path)) {
            return new ArrayList<>(files.filter(Files::isRegularFile).toList());
        }
    }

    /** Brings a new node to where the work begins; answers the time there. */
    private static Instant prepare(Path path, Work work) throws IOException {
        try (Fleet fleet = new Fleet(path)) {
            StorageNode node =
                    fleet.add(fleet.builder("n1").set(NodeSettings.BRAKE, 100).open());
            Fleet.put(node, PHOTOS, LIVE);
            Fleet.put(node, PHOTOS, GARBAGE);
            fleet.age();
            fleet.examine(node, PHOTOS, 1, LIVE);
            if (work == Work.TRASH) {
                return fleet.time.instant();
            }
            fleet.examine(node, PHOTOS, 2, LIVE);
            if (work != Work.PUT) {
                node.trash(PHOTOS, 2, Optional.empty(), StorageNode.Progress.NONE);
            }
            for (int day = 0; day < 7 && work == Work.EMPTY; day++) {
                node.empty(new EmptyPermit(node.id(), PHOTOS, fleet.time.instant()));
                fleet.time.advance(Duration.ofDays(1));
            }
            return fleet.time.instant();
        }
    }

    private static void work(Path path, Work work, Instant now, Consumer<String> points, Consumer<String> acknowledge)
            throws IOException {
        try (Fleet fleet = new Fleet(path)) {
            fleet.time.setWall(now);
            StorageNode node = fleet.add(fleet.builder("n1")
                    .set(NodeSettings.BRAKE, 100)
                    .sync(FilePieceStore.Sync.DURABLE)
                    .watch(step -> points.accept(step.name()))
                    .open());
            switch (work) {
                case PUT -> {
                    for (PieceId id : NEW) {
                        Fleet.put(node, PHOTOS, id);
                        acknowledge.accept(id.toString());
                    }
                    Fleet.put(node, PHOTOS, LIVE.getFirst());
                }
                case TRASH -> {
                    fleet.examine(node, PHOTOS, 2, LIVE);
                    node.trash(PHOTOS, 2, Optional.empty(), StorageNode.Progress.NONE);
                }
                case RESTORE -> node.restore(PHOTOS, 2);
                case EMPTY -> node.empty(new EmptyPermit(node.id(), PHOTOS, now));
            }
        }
    }

    /** The process that is killed. */
    static final class Child {
        public static void main(String[] args) throws IOException {
            Instant now = Instant.ofEpochMilli(Long.parseLong(args[2]));
            work(Path.of(args[0]), Work.valueOf(args[1]), now, KillPoint.ofThisJvm(), ChildJvm::say);
        }
    }
}
