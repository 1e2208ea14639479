package io.holdfast.bench.sweep;

import io.holdfast.ManualTime;
import io.holdfast.bench.Contest;
import io.holdfast.bench.Measurement;
import io.holdfast.bench.Meter;
import io.holdfast.bench.Row;
import io.holdfast.bench.Row.Direction;
import io.holdfast.bench.Run;
import io.holdfast.embedded.ScratchFolder;
import io.holdfast.sweep.Sweep;
import io.holdfast.sweep.SweepPlan;
import io.holdfast.sweep.SweepReport;
import io.holdfast.sweep.SweepSettings;
import io.holdfast.sweep.catalogue.BinaryFile;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.FileCatalogue;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.node.Approval;
import io.holdfast.sweep.node.FilePieceStore;
import io.holdfast.sweep.node.NodeReport;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;

/**
 * A storage node and a whole cycle over real files, one in ten of them garbage, the cache warm: the files lie in memory where
 * the system has a file system there, so that what is measured is the walk and not the disk. Sync policy: the product's, so
 * books and plans are forced to the disk, and renames are left to the file system.
 */
final class NodeCycles {

    private static final OwnerId OWNER = new OwnerId("photos");
    private static final int ID_BYTES = 32;
    private static final int GARBAGE_ONE_IN = 10;
    private static final int NODES = 6;
    private static final int ROUNDS = 3;
    private static final long ROOM_A_PIECE = 2048;

    private final Run run;
    private final ManualTime time = new ManualTime();

    NodeCycles(Run run) {
        this.run = run;
        // Files carry the real time; to the nodes it is four days later, so all of them are old enough.
        time.setWall(Instant.now().plus(Duration.ofDays(4)));
    }

    void measure() throws Exception {
        int pieces = run.size(2_000_000, 150_000);
        Path folder = Files.createTempDirectory(place(pieces), "holdfast-sweep-");
        List<NodeId> names = new ArrayList<>();
        for (int i = 1; i <= NODES; i++) {
            names.add(new NodeId("n" + i));
        }
        try (ScanThreads threads = ScanThreads.of(Runtime.getRuntime().availableProcessors())) {
            try {
                Path export = folder.resolve("catalogue");
                run.note("filling " + NODES + " nodes with " + pieces + " pieces in " + folder.getParent() + " ("
                        + Files.getFileStore(folder).type() + ")");
                fill(folder, names, pieces, export, threads);
                cycles(folder, names, pieces, export);
            } finally {
                threads.all(names.stream()
                        .map(name -> (Callable<Boolean>) () -> remove(folder.resolve(name.name())))
                        .toList());
                remove(folder);
            }
        }
    }

    /** Where files need no disk, if there is such a place with room for them. */
    private static Path place(long pieces) throws IOException {
        Path memory = Path.of("/dev/shm");
        return Files.isWritable(memory) && Files.getFileStore(memory).getUsableSpace() > pieces * ROOM_A_PIECE
                ? memory
                : Path.of(System.getProperty("java.io.tmpdir"));
    }

    private void fill(Path folder, List<NodeId> names, int pieces, Path export, ScanThreads threads) throws Exception {
        List<Callable<Boolean>> tasks = new ArrayList<>();
        FileCatalogue.Head head = new FileCatalogue.Head(OWNER, time.instant(), "bench");
        try (FileCatalogue.Writer writer = BinaryFile.write(export, head, ID_BYTES, names)) {
            for (NodeId name : names) {
                SplittableRandom random = new SplittableRandom(name.hashCode());
                for (int i = 0; i < pieces / NODES; i++) {
                    PieceId id = id(random);
                    if (i % GARBAGE_ONE_IN != 0) {
                        writer.piece(name, id.bytes(), time.instant().toEpochMilli());
                    }
                }
                tasks.add(() -> fill(folder, name, pieces / NODES));
            }
        }
        threads.all(tasks);
    }

    /** The same ids as in the catalogue, and the garbage between them. */
    private boolean fill(Path folder, NodeId name, int pieces) throws IOException {
        try (StorageNode node = open(folder, name, FilePieceStore.Sync.NONE)) {
            node.put(OWNER, id(new SplittableRandom(1)), new ByteArrayInputStream(new byte[1]));
        }
        SplittableRandom random = new SplittableRandom(name.hashCode());
        String owner = folder.resolve(name + "/pieces/" + OWNER.folder()) + "/";
        for (int i = 0; i < pieces; i++) {
            String text = id(random).toString();
            Path file = Path.of(owner + text.substring(0, 2) + "/" + text.substring(2));
            if (!file.toFile().getParentFile().isDirectory()) {
                Files.createDirectory(file.getParent());
            }
            Files.createFile(file);
        }
        return true;
    }

    private static PieceId id(SplittableRandom random) {
        byte[] bytes = new byte[ID_BYTES];
        random.nextBytes(bytes);
        return PieceId.wrap(bytes);
    }

    private StorageNode open(Path folder, NodeId name, FilePieceStore.Sync sync) throws IOException {
        return StorageNode.at(folder.resolve(name.name()), name.name())
                .time(time)
                .sync(sync)
                .open();
    }

    private void cycles(Path folder, List<NodeId> names, int pieces, Path export) throws Exception {
        Catalogue catalogue = new FreshCatalogue(FileCatalogue.of(export), time);
        List<Measurement> walks = new ArrayList<>();
        List<SweepReport> reports = new ArrayList<>();
        for (int round = 0; round <= ROUNDS; round++) {
            run.note("cycle " + round + " of " + ROUNDS + (round == 0 ? " (warms up)" : ""));
            with(folder, names.subList(0, 1), nodes -> oneNode(catalogue, nodes.getFirst(), walks));
            with(folder, names, nodes -> reports.add(wholeCycle(catalogue, nodes)));
        }
        report(pieces, walks.subList(1, walks.size()), reports.subList(1, reports.size()));
    }

    private interface Work {
        void on(List<StorageNode> nodes) throws Exception;
    }

    /** Works on nodes as the product opens them; then puts everything back, which need not be durable here. */
    private void with(Path folder, List<NodeId> names, Work work) throws Exception {
        List<StorageNode> nodes = new ArrayList<>();
        try {
            for (NodeId name : names) {
                nodes.add(open(folder, name, FilePieceStore.Sync.DURABLE));
            }
            work.on(nodes);
        } finally {
            for (StorageNode node : nodes) {
                node.close();
            }
        }
        for (NodeId name : names) {
            try (StorageNode node = open(folder, name, FilePieceStore.Sync.NONE)) {
                node.restore(OWNER, node.lastCycle(OWNER));
            }
        }
        time.advance(Duration.ofDays(4));
    }

    /** The walk that trashes, on one thread, and everything put back. */
    private void oneNode(Catalogue catalogue, StorageNode node, List<Measurement> walks) throws Exception {
        SweepPlan plan = sweep(catalogue, List.of(node)).plan();
        NodeReport planned = plan.report().nodes().getFirst();
        long begin = Meter.threadCpuNanos();
        long wall = System.nanoTime();
        NodeReport done = node.trash(
                OWNER, planned.cycle(), Optional.of(Approval.of("bench", planned)), StorageNode.Progress.NONE);
        walks.add(new Measurement(done.examined(), System.nanoTime() - wall, 0, Meter.threadCpuNanos() - begin));
    }

    private SweepReport wholeCycle(Catalogue catalogue, List<StorageNode> nodes) throws Exception {
        SweepPlan plan = sweep(catalogue, nodes).plan();
        return plan.trash(plan.approvals("bench"));
    }

    private Sweep sweep(Catalogue catalogue, List<StorageNode> nodes) {
        return Sweep.of(catalogue).nodes(nodes).time(new BenchTime(time)).set(SweepSettings.FLEET_LIMIT, 100);
    }

    private void report(int pieces, List<Measurement> walks, List<SweepReport> reports) {
        double perCpu = Contest.median(walks.stream()
                .mapToDouble(walk -> walk.operations() * 1e6 / walk.clientCpuNanos())
                .toArray());
        double perSecond = Contest.median(walks.stream()
                .mapToDouble(walk -> walk.operationsPerSecond() / 1e3)
                .toArray());
        run.row(Row.reported("node: filter check + trash, one thread", "k pieces/s", Direction.HIGHER, perSecond)
                .goal(200));
        run.row(Row.reported("node: the same in CPU time", "k pieces/CPU-s", Direction.HIGHER, perCpu));
        for (String part : List.of("scan", "examine", "trash")) {
            double seconds = Contest.median(reports.stream()
                    .mapToDouble(report ->
                            report.took().getOrDefault(part, Duration.ZERO).toNanos() / 1e9)
                    .toArray());
            run.row(Row.reported(
                    "cycle, " + pieces / 1000 + "k pieces on 6 nodes: " + part, "s", Direction.LOWER, seconds));
        }
        double trashed = Contest.median(
                reports.stream().mapToDouble(SweepReport::trashed).toArray());
        run.row(Row.reported("cycle: garbage trashed", "share", Direction.HIGHER, trashed * GARBAGE_ONE_IN / pieces));
    }

    /** The nodes' wall clock, and a monotonic clock that really runs, since parts of the cycle are timed with it. */
    private record BenchTime(ManualTime wall) implements io.holdfast.Time {
        @Override
        public Instant instant() {
            return wall.instant();
        }

        @Override
        public long nanoTime() {
            return System.nanoTime();
        }
    }

    private static boolean remove(Path folder) {
        ScratchFolder.remove(folder);
        return true;
    }
}
