package io.holdfast.bench.sweep;

import com.google.protobuf.ByteString;
import com.sun.management.GarbageCollectionNotificationInfo;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.holdfast.Time;
import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.manager.CycleReport;
import io.holdfast.sweep.manager.FileCycleStore;
import io.holdfast.sweep.manager.ManagerSettings;
import io.holdfast.sweep.manager.NodePort;
import io.holdfast.sweep.manager.SweepManager;
import io.holdfast.sweep.manager.WorkerPort;
import io.holdfast.sweep.node.NodeAgent;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.proto.AddPieceRequest;
import io.holdfast.sweep.proto.SessionId;
import io.holdfast.sweep.proto.SweepWorkerGrpc;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.retain.SigningKey;
import io.holdfast.sweep.rpc.Peers;
import io.holdfast.sweep.rpc.RpcServer;
import io.holdfast.sweep.rpc.WorkerService;
import io.holdfast.sweep.transfer.NodeToBuild;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.SessionStart;
import io.holdfast.sweep.transfer.Tally;
import io.holdfast.sweep.worker.SweepWorker;
import io.holdfast.testkit.ChildJvm;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

/**
 * A manager or a worker of a measured fleet, in a process of its own. There are no nodes: what is measured ends with the
 * filters signed, handed to the workers for delivery, and dropped there.
 *
 * <pre>
 *   worker KEYS                                        says its address
 *   manager KEY LOG WORKERS; reads lines:
 *     cycle PIECES NODES BUILDERS      -> seconds of each part, from the first row to the last signature
 *     unary PIECES                     -> seconds, one call a piece, 32 under way
 *     heap                             -> the most bytes that were left after a collection
 * </pre>
 */
final class FleetMain {

    /** The parts of a cycle that are measured: what follows is the nodes' work. */
    static final List<String> PARTS = List.of("count", "scan", "compare", "deliver");

    private static final int ID_BYTES = 32;
    private static final int CALLERS = 32;
    private static final Duration SAY_EVERY = Duration.ofSeconds(20);
    private static final AtomicLong HELD = new AtomicLong();

    private FleetMain() {}

    public static void main(String[] args) throws Exception {
        watchHeap();
        Thread.ofPlatform().daemon().start(FleetMain::sayNowAndThen);
        if (args[0].equals("worker")) {
            worker(Path.of(args[1]));
        } else {
            try (Peers peers = new Peers(Optional.empty())) {
                manager(peers, SigningKey.read(Path.of(args[1])), Path.of(args[2]), List.of(args[3].split(",")));
            }
            System.exit(0);
        }
    }

    private static void worker(Path keys) throws Exception {
        SweepWorker worker =
                new SweepWorker(1, 400L << 20, KeyRing.at(keys), (address, manifest, filter) -> {}, Time.system());
        try (RpcServer server = RpcServer.start("127.0.0.1:0", new WorkerService(worker), Optional.empty(), Set.of())) {
            ChildJvm.say("at " + server.address());
            var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            while (lines.readLine() != null) {
                ChildJvm.say("= " + heap());
            }
        }
        System.exit(0);
    }

    private static void manager(Peers peers, SigningKey key, Path log, List<String> workers) throws Exception {
        ChildJvm.sayReady();
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = lines.readLine()) != null) {
            String[] words = line.split(" ");
            String answer = switch (words[0]) {
                case "cycle" ->
                    cycle(
                            peers,
                            key,
                            log,
                            workers,
                            Long.parseLong(words[1]),
                            Integer.parseInt(words[2]),
                            Integer.parseInt(words[3]));
                case "unary" -> String.valueOf(unary(peers, workers, Integer.parseInt(words[1])));
                default -> String.valueOf(heap());
            };
            ChildJvm.say("= " + answer);
        }
    }

    private static String cycle(
            Peers peers, SigningKey key, Path log, List<String> workers, long pieces, int nodes, int builders)
            throws Exception {
        MadeUpCatalogue catalogue = new MadeUpCatalogue(pieces, nodes, 2);
        List<WorkerPort> ports = new ArrayList<>();
        workers.forEach(address -> ports.add(peers.worker(address)));
        CycleReport report = SweepManager.of(catalogue, key, new FileCycleStore(log.resolve("log")), "bench")
                .nodes(catalogue.nodes().stream().map(NoNode::new).toList())
                .workers(() -> ports)
                .set(ManagerSettings.BUILDERS, builders)
                .run();
        long delivered = report.nodes().stream()
                .filter(node -> node.detail().equals(NoNode.END))
                .count();
        if (delivered != nodes || report.attempts() != 1) {
            throw new IllegalStateException(delivered + " of " + nodes + " nodes, attempts " + report.attempts() + ": "
                    + report.nodes().getFirst());
        }
        return PARTS.stream()
                .map(part -> report.took().getOrDefault(part, Duration.ZERO).toNanos() / 1e9)
                .map(String::valueOf)
                .collect(Collectors.joining(" "));
    }

    /** The original's call, a thread a node so that each node's numbers come in order. */
    private static double unary(Peers peers, List<String> workers, int pieces) throws Exception {
        String worker = workers.getFirst();
        SessionKey key = new SessionKey(new OwnerId("bench"), 1_000_000, 1_000_000, 1);
        List<NodeToBuild> nodes = new ArrayList<>();
        for (int i = 0; i < CALLERS; i++) {
            nodes.add(new NodeToBuild(new NodeId("unary-" + i), FilterGeometry.forRate(pieces / CALLERS, 0.1)));
        }
        peers.worker(worker).start(new SessionStart(key, 1, new Tally.Keys(1, 2), nodes));
        ManagedChannel channel =
                NettyChannelBuilder.forTarget("dns:///" + worker).usePlaintext().build();
        SessionId session = SessionId.newBuilder()
                .setCycle(key.cycle())
                .setToken(key.token())
                .setAttempt(key.attempt())
                .build();
        try (ExecutorService callers = Executors.newFixedThreadPool(CALLERS)) {
            List<Callable<Boolean>> tasks = new ArrayList<>();
            for (NodeToBuild node : nodes) {
                tasks.add(() -> {
                    SweepWorkerGrpc.SweepWorkerBlockingStub stub = SweepWorkerGrpc.newBlockingStub(channel);
                    for (int i = 1; i <= pieces / CALLERS; i++) {
                        var _ = stub.addPiece(AddPieceRequest.newBuilder()
                                .setSessionId(session)
                                .setNodeId(node.node().name())
                                .setSequenceNumber(i)
                                .setPieceId(ByteString.copyFrom(new byte[16]))
                                .build());
                    }
                    return true;
                });
            }
            long begin = System.nanoTime();
            for (var done : callers.invokeAll(tasks)) {
                done.get();
            }
            return (System.nanoTime() - begin) / 1e9;
        } finally {
            channel.shutdownNow();
            peers.worker(worker).drop(key);
        }
    }

    /** Whoever waits for an answer takes silence for death. */
    private static void sayNowAndThen() {
        while (true) {
            LockSupport.parkNanos(SAY_EVERY.toNanos());
            ChildJvm.say("still at work");
        }
    }

    /** The most that was live: what the heap held after a collection. */
    private static long heap() {
        return HELD.get();
    }

    private static void watchHeap() {
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (collector instanceof NotificationEmitter emitter) {
                emitter.addNotificationListener(
                        (notification, handback) -> HELD.accumulateAndGet(
                                held(GarbageCollectionNotificationInfo.from(
                                        (CompositeData) notification.getUserData())),
                                Math::max),
                        null,
                        null);
            }
        }
    }

    private static long held(GarbageCollectionNotificationInfo info) {
        long bytes = 0;
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            MemoryUsage after = info.getGcInfo().getMemoryUsageAfterGc().get(pool.getName());
            if (pool.getType() == MemoryType.HEAP && after != null) {
                bytes += after.getUsed();
            }
        }
        return bytes;
    }

    /** A node that takes any filter and then leaves the cycle. */
    private record NoNode(NodeId id) implements NodePort {

        static final String END = "the bench has no nodes";

        @Override
        public String address() {
            return "127.0.0.1:1";
        }

        @Override
        public NodeProgress progress(OwnerId owner, long cycle) {
            return new NodeProgress(
                    id,
                    ID_BYTES,
                    0,
                    cycle == 0 ? NodeProgress.State.UNKNOWN : NodeProgress.State.FAILED,
                    0,
                    "",
                    "",
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    END,
                    List.of(),
                    "",
                    List.of());
        }

        @Override
        public NodeAgent.Carried carry(Signed order) {
            return new NodeAgent.Carried(0, "");
        }
    }
}
