package io.holdfast.sweep.node;

import static io.holdfast.sweep.node.Fleet.PHOTOS;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sweep.piece.PieceId;
import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.KillPoint;
import io.holdfast.testkit.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * kill -9 of storage nodes at each point of put, trash, restore and empty. One process serves several nodes, each of
 * which stands still when it reaches its own point; when all stand, the process is killed. So each kill leaves several
 * nodes behind, every one exactly as a kill at its point leaves it, at the price of one JVM. After it, another process
 * opens each node and finds: every piece that was acknowledged or is live, whole; nothing half there; nothing at two
 * places; and the interrupted work can be done to its end.
 */
class NodeCrashIT {

    private static final List<PieceId> LIVE = Fleet.ids(1, 24);
    private static final List<PieceId> GARBAGE = Fleet.ids(2, 8);
    private static final List<PieceId> NEW = Fleet.ids(3, 3);
    /** With 1, each point costs a process of its own. */
    private static final int NODES_A_PROCESS = Integer.getInteger("nodes.a.process", 10);

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
        Seeds.of(200 / NODES_A_PROCESS).run((seed, random) -> {
            List<Doomed> doomed = new ArrayList<>();
            for (int i = 0; i < NODES_A_PROCESS; i++) {
                long number = seed * NODES_A_PROCESS + i;
                Work work = Work.values()[(int) (number % Work.values().length)];
                Path path = folder.resolve("node-" + number);
                KillPoint.Census census = Objects.requireNonNull(points.get(work));
                doomed.add(draw(path, work, prepare(path, work), census, number, random));
            }
            kill(doomed);
        });
    }

    /** A node, its work, and the point at which it stands still: its name, and how often it is reached until then. */
    private record Doomed(Path path, Work work, Instant now, String point, int nth) {

        List<Object> arguments() {
            return List.of(path, work, now.toEpochMilli(), point, nth);
        }

        @Override
        public String toString() {
            return work + ", killed at " + point + ", time " + nth;
        }
    }

    /** Each named point alike, whichever time it is reached. */
    private static Doomed draw(
            Path path, Work work, Instant now, KillPoint.Census census, long number, RandomGenerator random) {
        List<String> names = List.copyOf(census.counts().keySet());
        String name = names.get((int) (number / Work.values().length % names.size()));
        return new Doomed(
                path, work, now, name, 1 + random.nextInt(census.counts().getOrDefault(name, 1)));
    }

    private static void kill(List<Doomed> doomed) throws Exception {
        List<Set<PieceId>> acknowledged = new ArrayList<>();
        List<Object> arguments = new ArrayList<>();
        for (Doomed node : doomed) {
            acknowledged.add(new HashSet<>(LIVE));
            arguments.addAll(node.arguments());
        }
        try (ChildJvm child =
                ChildJvm.of(Child.class).arguments(arguments.toArray()).launch()) {
            for (String line = child.readLine(); line != null; line = child.readLine()) {
                String[] parts = line.split(" ", 2);
                acknowledged.get(Integer.parseInt(parts[0])).add(PieceId.parse(parts[1], 16));
            }
            child.awaitKilled();
        }
        for (int i = 0; i < doomed.size(); i++) {
            checkAndFinish(doomed.get(i), acknowledged.get(i));
        }
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

    /** The process that is killed: a thread a node. */
    static final class Child {

        private static final int ARGUMENTS_EACH = 5;

        public static void main(String[] args) throws Exception {
            int nodes = args.length / ARGUMENTS_EACH;
            CountDownLatch standing = new CountDownLatch(nodes);
            for (int i = 0; i < nodes; i++) {
                int number = i;
                String[] mine = Arrays.copyOfRange(args, i * ARGUMENTS_EACH, (i + 1) * ARGUMENTS_EACH);
                Thread.ofPlatform().start(() -> {
                    try {
                        Instant now = Instant.ofEpochMilli(Long.parseLong(mine[2]));
                        Consumer<String> points = new StandStill(mine[3], Integer.parseInt(mine[4]), standing);
                        work(Path.of(mine[0]), Work.valueOf(mine[1]), now, points, id -> say(number, id));
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
            }
            if (standing.await(30, TimeUnit.SECONDS)) {
                KillPoint.at("all stand", 1).accept("all stand");
            }
            Runtime.getRuntime().halt(1);
        }

        private static synchronized void say(int number, String id) {
            ChildJvm.say(number + " " + id);
        }
    }

    /** Never returns from the nth visit of its point. */
    private static final class StandStill implements Consumer<String> {
        private final String point;
        private final CountDownLatch standing;
        private int left;

        StandStill(String point, int nth, CountDownLatch standing) {
            this.point = point;
            this.left = nth;
            this.standing = standing;
        }

        @Override
        public void accept(String reached) {
            if (reached.equals(point) && --left == 0) {
                standing.countDown();
                while (true) {
                    LockSupport.park();
                }
            }
        }
    }
}
