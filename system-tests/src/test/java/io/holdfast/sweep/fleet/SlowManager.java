package io.holdfast.sweep.fleet;

import io.holdfast.Settings;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.FileCatalogue;
import io.holdfast.sweep.manager.CycleReport;
import io.holdfast.sweep.manager.FileCycleStore;
import io.holdfast.sweep.manager.SweepManager;
import io.holdfast.sweep.manager.WorkerPort;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.SigningKey;
import io.holdfast.sweep.rpc.Peers;
import io.holdfast.sweep.rpc.RemoteNode;
import io.holdfast.testkit.ChildJvm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * A manager as a process, over a catalogue that takes its time and tells when a third of it is read, so that a test can
 * kill something just then.
 */
final class SlowManager {

    private static final int PAUSES = 400;
    private static final Duration SAY_EVERY = Duration.ofSeconds(20);

    private SlowManager() {}

    /** @param args catalogue, fleet file, key, folder of the log, rows of the catalogue */
    public static void main(String[] args) throws Exception {
        Catalogue catalogue = new Slow(FileCatalogue.of(Path.of(args[0])), Long.parseLong(args[4]), new AtomicLong());
        try (Peers peers = new Peers(Optional.empty())) {
            List<RemoteNode> nodes = new ArrayList<>();
            List<WorkerPort> workers = new ArrayList<>();
            for (String line : Files.readAllLines(Path.of(args[1]))) {
                String[] words = line.split(" ");
                if (words[0].equals("node")) {
                    nodes.add(peers.node(new NodeId(words[1]), words[2]));
                } else {
                    workers.add(peers.worker(words[1]));
                }
            }
            SweepManager manager = SweepManager.of(
                            catalogue,
                            SigningKey.read(Path.of(args[2])),
                            new FileCycleStore(Path.of(args[3])),
                            "slow manager")
                    .nodes(nodes)
                    .workers(() -> workers)
                    .settings(Settings.ofProcess());
            Thread.ofPlatform().daemon().start(() -> tellPhases(manager));
            CycleReport report = manager.run();
            ChildJvm.say("done " + report.in("done").size() + " attempts " + report.attempts() + " trashed "
                    + report.trashed() + " failed " + report.in("failed"));
        }
    }

    private static void tellPhases(SweepManager manager) {
        String told = "";
        long saidNanos = System.nanoTime();
        while (true) {
            String phase = manager.status().phase();
            if (!phase.equals(told)) {
                ChildJvm.say("phase " + phase);
                told = phase;
            } else if (System.nanoTime() - saidNanos > SAY_EVERY.toNanos()) {
                // Whoever waits takes silence for death, and a large fleet is long at one phase.
                ChildJvm.say("at row " + manager.status().rows());
                saidNanos = System.nanoTime();
            }
            LockSupport.parkNanos(5_000_000);
        }
    }

    private record Slow(Catalogue fast, long rows, AtomicLong seen) implements Catalogue {

        @Override
        public OwnerId owner() {
            return fast.owner();
        }

        @Override
        public Snapshot open() throws Exception {
            Snapshot view = fast.open();
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
                public int ranges() {
                    return view.ranges();
                }

                @Override
                public void scan(int range, PieceSink sink) throws Exception {
                    view.scan(range, slow(sink));
                }

                @Override
                public void scan(int range, Set<NodeId> some, PieceSink sink) throws Exception {
                    view.scan(range, some, sink);
                }

                @Override
                public Optional<Map<NodeId, Long>> counts() throws Exception {
                    return view.counts();
                }

                @Override
                public boolean contains(NodeId node, byte[] id) throws Exception {
                    return view.contains(node, id);
                }

                @Override
                public void check() throws Exception {
                    view.check();
                }

                @Override
                public void close() throws java.io.IOException {
                    view.close();
                }
            };
        }

        private Catalogue.PieceSink slow(Catalogue.PieceSink sink) {
            return (node, id, created) -> {
                long number = seen.incrementAndGet();
                if (number == rows / 3) {
                    ChildJvm.say("a third");
                }
                if (number % Math.max(1, rows / PAUSES) == 0) {
                    LockSupport.parkNanos(2_000_000);
                }
                sink.piece(node, id, created);
            };
        }
    }
}
