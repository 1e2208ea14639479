package io.holdfast.sweep.rpc;

import io.holdfast.ManualTime;
import io.holdfast.Time;
import io.holdfast.embedded.ScratchFolder;
import io.holdfast.sweep.SweepSettings;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.InMemoryCatalogue;
import io.holdfast.sweep.manager.CycleLog;
import io.holdfast.sweep.manager.FileCycleStore;
import io.holdfast.sweep.manager.ManagerSettings;
import io.holdfast.sweep.manager.NodePort;
import io.holdfast.sweep.manager.Orders;
import io.holdfast.sweep.manager.SweepManager;
import io.holdfast.sweep.manager.WorkerPort;
import io.holdfast.sweep.node.FilePieceStore;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.node.MemoryFolder;
import io.holdfast.sweep.node.NodeAgent;
import io.holdfast.sweep.node.NodeSettings;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.SigningKey;
import io.holdfast.sweep.worker.SweepWorker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Manager, workers and nodes of the product, talking gRPC over loopback, in one process. A test registers it as an extension
 * and finds it empty: it adds the nodes and workers that it wants, and all of them end with it.
 */
final class LoopbackFleet implements BeforeEachCallback, AfterEachCallback {

    private static final Duration AGE = Duration.ofDays(5);

    static final Instant NEVER = Instant.parse("2100-01-01T00:00:00Z");

    /** The nodes' wall clock is days ahead, so that what is put now is old; what waits, waits in real time. */
    record Shifted(ManualTime wall, Duration by) implements Time {
        @Override
        public Instant instant() {
            return wall.instant().plus(by);
        }

        /** As far ahead as the wall was moved, so that this is no jump of the clock. */
        @Override
        public long nanoTime() {
            return System.nanoTime() + wall.nanoTime();
        }
    }

    final ManualTime wall = new ManualTime();
    final Time time = new Shifted(wall, Duration.ZERO);
    final SigningKey managerKey = SigningKey.generate("manager-1");
    final SigningKey operatorKey = SigningKey.generate("ann");
    final KeyRing ring = KeyRing.of(List.of(
            KeyRing.entry(managerKey, KeyRing.Role.MANAGER, Instant.EPOCH, NEVER),
            KeyRing.entry(operatorKey, KeyRing.Role.OPERATOR, Instant.EPOCH, NEVER)));
    final InMemoryCatalogue catalogue = new InMemoryCatalogue(Fleet.PHOTOS, "db-1", wall);
    final Peers peers = new Peers(Optional.empty(), Optional.of(ring));
    final Map<String, StorageNode> nodes = new TreeMap<>();
    final Map<String, NodeAgent> agents = new TreeMap<>();
    final Map<String, RpcServer> nodeServers = new TreeMap<>();
    final List<RpcServer> workers = new ArrayList<>();
    final TreeSet<PieceId> garbage = new TreeSet<>();
    final Map<String, List<PieceId>> live = new TreeMap<>();
    private final ExecutorService walks = Executors.newCachedThreadPool();
    private Path folder = Path.of("");

    @Override
    public void beforeEach(ExtensionContext context) throws IOException {
        folder = MemoryFolder.create();
    }

    LoopbackFleet node(String name, int livePieces, int garbagePieces) throws IOException {
        return node(name, livePieces, garbagePieces, time, () -> false);
    }

    /** A node with a clock of its own, whose disk may be full. */
    LoopbackFleet node(String name, int livePieces, int garbagePieces, Time clock, BooleanSupplier full)
            throws IOException {
        StorageNode node = Fleet.onDiskThatFills(StorageNode.at(folder.resolve(name), name), full)
                .time(clock)
                .set(NodeSettings.ID_BYTES, 16)
                .set(NodeSettings.BRAKE, 100)
                .sync(FilePieceStore.Sync.NONE)
                .open();
        List<PieceId> known = Fleet.ids(name.hashCode(), livePieces);
        List<PieceId> unknown = Fleet.ids(name.hashCode() + 1000L, garbagePieces);
        Fleet.put(node, Fleet.PHOTOS, known);
        Fleet.put(node, Fleet.PHOTOS, unknown);
        // As if the last of them had been committed just before the first cycle: the cutoff is then.
        Instant committed = wall.instant().plus(AGE);
        known.forEach(id -> catalogue.add(new NodeId(name), id, committed));
        garbage.addAll(unknown);
        live.put(name, known);
        NodeAgent agent = new NodeAgent(node, ring, walks, clock);
        nodes.put(name, node);
        agents.put(name, agent);
        nodeServers.put(name, RpcServer.start("127.0.0.1:0", new NodeService(agent), Optional.empty(), Set.of()));
        return this;
    }

    LoopbackFleet worker() {
        return worker((incarnation, delivery) -> new SweepWorker(incarnation, 1L << 26, ring, delivery, time));
    }

    LoopbackFleet worker(BiFunction<Long, SweepWorker.Delivery, SweepWorker> maker) {
        return worker(SigningKey.generate("worker-" + (workers.size() + 1)), maker);
    }

    /** A worker with a key of its own; another worker may have the same. */
    LoopbackFleet worker(SigningKey key, BiFunction<Long, SweepWorker.Delivery, SweepWorker> maker) {
        SweepWorker worker = maker.apply(workers.size() + 1L, peers::retain);
        if (ring.entries().stream().noneMatch(entry -> entry.id().equals(key.id()))) {
            try {
                ring.add(KeyRing.entry(key, KeyRing.Role.WORKER, Instant.EPOCH, NEVER));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        WorkerService service = new WorkerService(worker, key);
        RpcServer server = RpcServer.start("127.0.0.1:0", service, Optional.empty(), Set.of());
        service.reachedAt(server.address());
        workers.add(server);
        return this;
    }

    SweepManager manager() throws IOException {
        return manager(managerKey);
    }

    SweepManager manager(SigningKey key) throws IOException {
        return manager(key, catalogue);
    }

    SweepManager manager(SigningKey key, Catalogue of) throws IOException {
        List<NodePort> ports = new ArrayList<>();
        nodeServers.keySet().forEach(name -> ports.add(port(name)));
        return SweepManager.of(of, key, store(), "test")
                .nodes(ports)
                .workers(this::workerPorts)
                .time(time)
                .set(SweepSettings.FLEET_LIMIT, 100)
                .set(SweepSettings.FALSE_POSITIVES, "0.01")
                .set(SweepSettings.SCANNERS, 2)
                .set(ManagerSettings.WORKER_PATIENCE, Duration.ofSeconds(3))
                .set(ManagerSettings.NODE_PATIENCE, Duration.ofSeconds(3));
    }

    private List<WorkerPort> workerPorts() {
        List<WorkerPort> ports = new ArrayList<>();
        workers.forEach(worker -> ports.add(peers.worker(worker.address())));
        return ports;
    }

    Orders operator() {
        return new Orders(operatorKey, time);
    }

    void age() {
        wall.advance(AGE);
    }

    /** The catalogue goes on living: its newest row is of now. */
    void touch() {
        live.forEach((node, ids) -> ids.stream().findFirst().ifPresent(id -> catalogue.add(new NodeId(node), id)));
    }

    long garbageLeft() throws IOException {
        long left = 0;
        for (StorageNode node : nodes.values()) {
            left += Fleet.live(node, Fleet.PHOTOS).stream()
                    .filter(garbage::contains)
                    .count();
        }
        return left;
    }

    boolean everyLivePieceIsThere() throws IOException {
        for (Map.Entry<String, StorageNode> node : nodes.entrySet()) {
            if (!Fleet.live(node.getValue(), Fleet.PHOTOS).containsAll(live.getOrDefault(node.getKey(), List.of()))) {
                return false;
            }
        }
        return true;
    }

    /** Where cycles are numbered. */
    CycleLog log() throws IOException {
        return new CycleLog(store(), time);
    }

    private FileCycleStore store() throws IOException {
        return new FileCycleStore(folder.resolve("log"));
    }

    String address(String node) {
        return Objects.requireNonNull(nodeServers.get(node)).address();
    }

    NodePort port(String node) {
        return peers.node(new NodeId(node), address(node));
    }

    @Override
    public void afterEach(ExtensionContext context) throws IOException {
        workers.forEach(RpcServer::close);
        nodeServers.values().forEach(RpcServer::close);
        peers.close();
        walks.shutdownNow();
        walks.close();
        for (StorageNode node : nodes.values()) {
            node.close();
        }
        ScratchFolder.remove(folder);
    }
}
