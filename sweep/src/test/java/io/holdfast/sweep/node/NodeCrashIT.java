package io.holdfast.sweep.node;

import static io.holdfast.sweep.node.Fleet.PHOTOS;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sweep.piece.PieceId;
import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.ClassCache;
import io.holdfast.testkit.KillPoint;
import io.holdfast.testkit.Seeds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * kill -9 of a storage node at each point of put, trash, restore and empty: a process stands still when it reaches its point,
 * and is killed there. After it, another process opens the node and finds: every piece that was acknowledged or is live,
 * whole; nothing half there; nothing at two places; and the interrupted work can be done to its end.
 */
class NodeCrashIT {

    private static final List<PieceId> LIVE = Fleet.ids(1, 24);
    private static final List<PieceId> GARBAGE = Fleet.ids(2, 8);
    private static final List<PieceId> NEW = Fleet.ids(3, 3);
    private static final int KILLS = 200;
    private static final String STANDING = "standing";

    enum Work {
        PUT,
        TRASH,
        RESTORE,
        EMPTY
    }

    @TempDir(factory = MemoryFolder.class)
    private Path folder;

    @Test
    void killAtEveryStepLosesNoLivePieceAndLeavesNothingHalfThere() throws Exception {
        Map<Work, Prepared> prepared = new EnumMap<>(Work.class);
        Set<String> reached = new HashSet<>();
        ChildJvm.Setup training = ChildJvm.of(Child.class);
        for (Work work : Work.values()) {
            Path path = folder.resolve("prepared-" + work);
            Prepared one = new Prepared(path, prepare(path, work), new KillPoint.Census());
            work(one.copy(folder.resolve("census-" + work)), work, one.now(), one.points(), line -> {});
            prepared.put(work, one);
            reached.addAll(one.points().counts().keySet());
            Path other = one.copy(folder.resolve("training-" + work));
            training.arguments(new Doomed(other, work, one.now(), "no point", 1).arguments());
        }
        assertThat(reached).as("every named step is killed at").hasSize(NodeStep.values().length);
        ClassCache cache = ClassCache.fill(folder.resolve("cache"), training);
        Seeds.of(KILLS).twoAtATime().run((seed, random) -> {
            Work work = Work.values()[(int) (seed % Work.values().length)];
            Prepared node = Objects.requireNonNull(prepared.get(work));
            kill(cache, draw(node.copy(folder.resolve("node-" + seed)), work, node, seed, random));
        });
    }

    /** A node that stands where a work begins, and the points which that work reaches. */
    private record Prepared(Path path, Instant now, KillPoint.Census points) {

        Path copy(Path to) throws IOException {
            try (Stream<Path> files = Files.walk(path)) {
                for (Path file : files.toList()) {
                    Files.copy(file, to.resolve(path.relativize(file)), StandardCopyOption.COPY_ATTRIBUTES);
                }
            }
            return to;
        }
    }

    /** A node, its work, and the point at which it stands still: its name, and how often it is reached until then. */
    private record Doomed(Path path, Work work, Instant now, String point, int nth) {

        Object[] arguments() {
            return new Object[] {path, work, now.toEpochMilli(), point, nth};
        }

        @Override
        public String toString() {
            return work + ", killed at " + point + ", time " + nth;
        }
    }

    /** Each named point alike, whichever time it is reached. */
    private static Doomed draw(Path path, Work work, Prepared node, long number, RandomGenerator random) {
        Map<String, Integer> counts = node.points().counts();
        List<String> names = List.copyOf(counts.keySet());
        String name = names.get((int) (number / Work.values().length % names.size()));
        return new Doomed(path, work, node.now(), name, 1 + random.nextInt(counts.getOrDefault(name, 1)));
    }

    private static void kill(ClassCache cache, Doomed doomed) throws Exception {
        Set<PieceId> acknowledged = new HashSet<>(LIVE);
        try (ChildJvm child =
                cache.child(Child.class).arguments(doomed.arguments()).launch()) {
            child.awaitLine(line -> {
                if (!line.equals(STANDING)) {
                    acknowledged.add(PieceId.parse(line, 16));
                }
                return line.equals(STANDING);
            });
            child.kill();
        }
        checkAndFinish(doomed, acknowledged);
    }

    private static void checkAndFinish(Doomed doomed, Set<PieceId> acknowledged) throws IOException {
        Path path = doomed.path();
        Work work = doomed.work();
        try (Fleet fleet = new Fleet(path)) {
            fleet.time.setWall(doomed.now());
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
            throw new AssertionError(doomed + ": " + e.getMessage(), e);
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
            if (work == Work.EMPTY) {
                fleet.time.advance(Duration.ofDays(7));
                fleet.examine(node, PHOTOS, 3, LIVE);
                node.trash(PHOTOS, 3, Optional.empty(), StorageNode.Progress.NONE);
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

        private static final int ARGUMENTS_EACH = 5;

        public static void main(String[] args) throws IOException {
            for (int i = 0; i < args.length; i += ARGUMENTS_EACH) {
                Instant now = Instant.ofEpochMilli(Long.parseLong(args[i + 2]));
                Consumer<String> points = new StandStill(args[i + 3], Integer.parseInt(args[i + 4]));
                work(Path.of(args[i]), Work.valueOf(args[i + 1]), now, points, ChildJvm::say);
            }
        }
    }

    /** Never returns from the nth visit of its point. */
    private static final class StandStill implements Consumer<String> {
        private final String point;
        private int left;

        StandStill(String point, int nth) {
            this.point = point;
            this.left = nth;
        }

        @Override
        public void accept(String reached) {
            if (reached.equals(point) && --left == 0) {
                ChildJvm.say(STANDING);
                while (true) {
                    LockSupport.park();
                }
            }
        }
    }
}
