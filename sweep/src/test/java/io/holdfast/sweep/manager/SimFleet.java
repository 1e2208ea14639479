package io.holdfast.sweep.manager;

import io.holdfast.DutyRunner;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Ledger;
import io.holdfast.sweep.SweepSettings;
import io.holdfast.sweep.filter.FilterFormat;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.node.FilePieceStore;
import io.holdfast.sweep.node.MemoryPieceStore;
import io.holdfast.sweep.node.NodeAgent;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.node.NodeSettings;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.Manifest;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.retain.SigningKey;
import io.holdfast.sweep.transfer.Frame;
import io.holdfast.sweep.transfer.FrameReply;
import io.holdfast.sweep.transfer.NodeBatch;
import io.holdfast.sweep.transfer.NodeBuilt;
import io.holdfast.sweep.transfer.SendWindow;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.SessionStart;
import io.holdfast.sweep.transfer.Tally;
import io.holdfast.sweep.transfer.XorTally;
import io.holdfast.sweep.worker.PlantedWorkers;
import io.holdfast.sweep.worker.SweepWorker;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Managers, workers and nodes: the product's own code, with a simulated world between them. */
final class SimFleet implements AutoCloseable {

    /** A mistake to plant. */
    enum Bug {
        NONE,
        NO_COMPARISON,
        XOR_INSTEAD_OF_SUM,
        ATTEMPT_IGNORED,
        WINDOW_UNBOUNDED
    }

    static final OwnerId OWNER = new OwnerId("sim");
    private static final int ID_BYTES = 16;
    private static final long WINDOW_BYTES = 1500;
    private static final SigningKey KEY = SigningKey.generate("manager-1");

    final SimWorld world;
    final SimCatalogue catalogue;
    final List<SimNode> nodes = new ArrayList<>();
    final List<SimWorker> workers = new ArrayList<>();
    private final Path folder;
    private final Bug bug;
    private final KeyRing ring;
    private final Map<OwnerId, String> cycles = new HashMap<>();
    private final List<SendWindow> windows = new ArrayList<>();
    final int builders;
    private long @Nullable [] otherPayload;

    SimFleet(SimWorld world, Path folder, Bug bug) {
        this.world = world;
        this.folder = folder;
        this.bug = bug;
        this.catalogue = new SimCatalogue(OWNER, world.time, world.random);
        this.ring = KeyRing.of(List.of(
                KeyRing.entry(KEY, KeyRing.Role.MANAGER, Instant.EPOCH, Instant.parse("2100-01-01T00:00:00Z"))));
        int workerCount = 2 + world.random.nextInt(2);
        for (int i = 1; i <= workerCount; i++) {
            workers.add(new SimWorker("w" + i));
        }
        for (int i = 1; i <= 3; i++) {
            nodes.add(new SimNode("n" + i));
        }
        this.builders = 1 + world.random.nextInt(2);
    }

    // ---- nodes ----

    final class SimNode implements NodePort {
        private final NodeId id;
        final MemoryPieceStore store;
        final TreeSet<PieceId> garbage = new TreeSet<>();
        private @Nullable NodeAgent agent;
        private int killAfterTrashed = -1;
        boolean lies;
        private int life;

        SimNode(String name) {
            id = new NodeId(name);
            store = new MemoryPieceStore(OWNER, ID_BYTES, world.time, this::beforeTrash);
            start();
        }

        private void beforeTrash() {
            if (killAfterTrashed > 0 && --killAfterTrashed == 0) {
                throw new Killed("node " + id);
            }
        }

        void start() {
            try {
                StorageNode opened = StorageNode.at(folder.resolve(id.name()), id.name())
                        .time(world.time)
                        .set(NodeSettings.ID_BYTES, ID_BYTES)
                        .set(NodeSettings.BRAKE, 100)
                        .set(NodeSettings.CLOCK_SKEW, Duration.ofHours(1))
                        .sync(FilePieceStore.Sync.NONE)
                        .ledger(Ledger.inMemory(100))
                        .store(store)
                        .open();
                int mine = ++life;
                NodeAgent started = new NodeAgent(
                        opened, ring, walk -> world.later(world.between(5, 5_000), () -> walk(mine, walk)), world.time);
                agent = started;
                started.resume();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private void walk(int mine, Runnable walk) {
            if (agent == null || mine != life) {
                return;
            }
            try {
                walk.run();
            } catch (Killed e) {
                kill();
            }
        }

        void kill() {
            NodeAgent old = agent;
            if (old == null) {
                return;
            }
            agent = null;
            life++;
            killAfterTrashed = -1;
            try {
                old.node().close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            world.later(world.between(100, 60_000), this::start);
        }

        void killInMidTrash() {
            killAfterTrashed = 1 + world.random.nextInt(5);
        }

        NodeAgent agent() {
            NodeAgent up = agent;
            if (up == null) {
                throw new HoldfastException(Category.RETRY, "node " + id + " cannot be reached");
            }
            return up;
        }

        @Override
        public NodeId id() {
            return id;
        }

        @Override
        public String address() {
            return id.name();
        }

        @Override
        public NodeProgress progress(OwnerId owner, long cycle) {
            return world.call(
                    () -> {
                        try {
                            return agent().progress(owner, cycle);
                        } catch (IOException e) {
                            throw new UncheckedIOException(e);
                        }
                    },
                    () -> {});
        }

        @Override
        public NodeAgent.Carried carry(Signed order) {
            Supplier<NodeAgent.Carried> call = () -> {
                try {
                    return agent().carry(order);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            };
            return world.call(call, () -> quietly(call));
        }

        void retain(Signed manifest, LiveFilter filter) {
            checkComplete(Manifest.decode(manifest.text()), filter);
            Supplier<Boolean> call = () -> {
                try {
                    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                    FilterFormat.write(filter, bytes);
                    agent().retain(manifest, new ByteArrayInputStream(bytes.toByteArray()));
                    return true;
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            };
            world.call(call, () -> quietly(call));
        }
    }

    /** What is signed answers to every live piece of its snapshot; what the node would find out comes after that. */
    private void checkComplete(Manifest manifest, LiveFilter filter) {
        for (PieceId id : catalogue.liveAt(manifest.cutoff(), manifest.node())) {
            if (!filter.mayContain(id.fingerprint())) {
                throw new AssertionError("an incomplete filter was signed: " + manifest + " lacks " + id);
            }
        }
    }

    private static void quietly(Supplier<?> call) {
        try {
            var unused = call.get();
        } catch (HoldfastException e) {
            // what arrives late is refused, and nobody hears of it
        }
    }

    // ---- workers ----

    final class SimWorker {
        private final String name;
        private @Nullable SweepWorker worker;
        private long incarnation;

        SimWorker(String name) {
            this.name = name;
            start();
        }

        void start() {
            incarnation++;
            SweepWorker.Delivery delivery =
                    (address, manifest, filter) -> node(address).retain(manifest, filter);
            worker = switch (bug) {
                case ATTEMPT_IGNORED -> PlantedWorkers.ignoringAttempts(incarnation, ring, delivery, world.time);
                case XOR_INSTEAD_OF_SUM ->
                    PlantedWorkers.tallying(incarnation, ring, delivery, world.time, XorTally::new);
                default -> new SweepWorker(incarnation, 1L << 20, ring, delivery, world.time);
            };
        }

        void kill() {
            if (worker != null) {
                worker = null;
                world.later(world.between(10, 200_000), this::start);
            }
        }

        SweepWorker up() {
            SweepWorker up = worker;
            if (up == null) {
                throw new HoldfastException(Category.RETRY, "worker " + name + " cannot be reached");
            }
            return up;
        }
    }

    private SimNode node(String name) {
        return nodes.stream()
                .filter(node -> node.id.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    /** A worker as one manager sees it. */
    private record Port(SimFleet fleet, SimWorker worker, SimManager manager) implements WorkerPort {

        @Override
        public String address() {
            return worker.name;
        }

        private <T> T call(Supplier<T> call) {
            manager.alive();
            T answer = fleet.world.call(call, () -> quietly(call));
            manager.alive();
            return answer;
        }

        @Override
        public Pong ping() {
            return call(() -> new Pong(worker.up().incarnation(), 0, 0, worker.name));
        }

        @Override
        public void start(SessionStart start) {
            call(() -> {
                worker.up().start(start);
                return true;
            });
        }

        @Override
        public Link open(SessionKey session, Replies replies) {
            manager.alive();
            return new Link() {
                @Override
                public void send(Frame frame) {
                    manager.alive();
                    fleet.checkWindows();
                    Frame sent = fleet.maybeCorrupt(frame);
                    fleet.world.send(() -> arrive(sent, replies));
                }

                @Override
                public void close() {}
            };
        }

        private void arrive(Frame frame, Replies replies) {
            SweepWorker up = worker.worker;
            if (up == null) {
                fleet.world.later(
                        fleet.world.latency(),
                        () -> back(() -> replies.broken(new HoldfastException(Category.RETRY, "the stream broke"))));
                return;
            }
            try {
                FrameReply reply = up.session(frame.session()).take(frame);
                fleet.world.send(() -> back(() -> replies.reply(reply)));
            } catch (HoldfastException e) {
                fleet.world.send(() -> back(() -> replies.broken(e)));
            }
        }

        /** Nobody hears what comes for the dead. */
        private void back(Runnable reply) {
            if (!manager.killed) {
                reply.run();
            }
        }

        @Override
        public List<NodeBuilt> end(SessionKey session, Map<NodeId, Long> endings) {
            return call(() -> worker.up().session(session).end(endings));
        }

        @Override
        public Optional<HoldfastException> deliver(SessionKey session, NodeId node, String address, Signed manifest) {
            return call(() -> worker.up().deliver(session, node, address, manifest));
        }

        @Override
        public void drop(SessionKey session) {
            call(() -> {
                worker.up().drop(session);
                return true;
            });
        }
    }

    /** A batch with the pieces of another batch: a fault of memory, or a worker that mixes up its buffers. */
    private Frame maybeCorrupt(Frame frame) {
        List<NodeBatch> batches = new ArrayList<>();
        for (NodeBatch batch : frame.batches()) {
            long[] other = otherPayload;
            boolean swap = other != null && other.length == batch.fingerprints().length && world.chance(world.corrupt);
            batches.add(
                    swap
                            ? new NodeBatch(batch.ordinal(), batch.firstSequence(), Objects.requireNonNull(other))
                            : batch);
            otherPayload = batch.fingerprints();
        }
        return new Frame(frame.session(), frame.number(), batches);
    }

    // ---- managers ----

    final class SimManager {
        private final String name;
        private final Parts parts = new SimParts();
        boolean killed;

        SimManager(String name) {
            this.name = name;
        }

        void alive() {
            if (killed) {
                throw new Killed(name);
            }
        }

        CycleReport run() {
            DutyRunner duties = DutyRunner.manual(world.time);
            Runnable renewing = () -> {
                if (!killed) {
                    duties.runDue();
                }
            };
            world.everyTick.add(renewing);
            try {
                return manager(duties).run();
            } finally {
                world.everyTick.remove(renewing);
            }
        }

        /** Lets the nodes delete for good what two cycles agree on. */
        SweepManager.Emptied empty() {
            return manager(DutyRunner.manual(world.time)).empty();
        }

        private SweepManager manager(DutyRunner duties) {
            return SweepManager.of(catalogue, KEY, store(this), name)
                    .nodes(nodes.stream().map(node -> guarded(node, this)).toList())
                    .workers(() -> workers.stream()
                            .map(worker -> (WorkerPort) new Port(SimFleet.this, worker, this))
                            .toList())
                    .time(world.time)
                    .set(SweepSettings.FALSE_POSITIVES, "0.0001")
                    .set(SweepSettings.FLEET_LIMIT, 100)
                    .set(ManagerSettings.BUILDERS, builders)
                    .stepped(
                            (monitor, atMost) -> {
                                alive();
                                world.run(atMost);
                                alive();
                            },
                            world.random::nextLong,
                            parts,
                            () -> duties);
        }
    }

    private NodePort guarded(SimNode node, SimManager manager) {
        return new NodePort() {
            @Override
            public NodeId id() {
                return node.id();
            }

            @Override
            public String address() {
                return node.address();
            }

            @Override
            public NodeProgress progress(OwnerId owner, long cycle) {
                manager.alive();
                NodeProgress told = node.progress(owner, cycle);
                return node.lies ? ProgressLie.random(told, world.random) : told;
            }

            @Override
            public NodeAgent.Carried carry(Signed order) {
                manager.alive();
                return node.carry(order);
            }
        };
    }

    private CycleStore store(SimManager manager) {
        return new CycleStore() {
            @Override
            public Optional<String> read(OwnerId owner) {
                manager.alive();
                return Optional.ofNullable(cycles.get(owner));
            }

            @Override
            public boolean compareAndSet(OwnerId owner, Optional<String> expected, String next) {
                manager.alive();
                if (!Optional.ofNullable(cycles.get(owner)).equals(expected)) {
                    return false;
                }
                cycles.put(owner, next);
                return true;
            }
        };
    }

    CycleLog log() {
        return new CycleLog(store(new SimManager("observer")), world.time);
    }

    private final class SimParts extends Parts {
        @Override
        Tally tally(Tally.Keys keys) {
            return bug == Bug.XOR_INSTEAD_OF_SUM ? new XorTally(keys) : super.tally(keys);
        }

        @Override
        int framePieces() {
            return 24;
        }

        @Override
        long gathering(long given, int nodes) {
            return 256L * nodes;
        }

        @Override
        SendWindow window(SessionKey key, long bytesMax, long nowNanos) {
            SendWindow window = bug == Bug.WINDOW_UNBOUNDED
                    ? new SendWindow(key, WINDOW_BYTES, nowNanos) {
                        @Override
                        public boolean hasRoom() {
                            return true;
                        }
                    }
                    : new SendWindow(key, WINDOW_BYTES, nowNanos);
            windows.add(window);
            return window;
        }

        @Override
        Comparison comparison() {
            return bug == Bug.NO_COMPARISON
                    ? new Comparison() {
                        @Override
                        String disagreement(Tally.Sum sent, long distinctAbout, List<NodeBuilt> built) {
                            return built.stream().allMatch(NodeBuilt::isWhole) ? "" : "not whole";
                        }
                    }
                    : super.comparison();
        }
    }

    private void checkWindows() {
        for (SendWindow window : windows) {
            if (window.bytes() > WINDOW_BYTES + 2000) {
                throw new AssertionError("a window keeps " + window.bytes() + " bytes; allowed are " + WINDOW_BYTES);
            }
        }
    }

    // ---- what must hold ----

    /** A piece that the catalogue knows is where it was put. */
    void checkLive() {
        for (SimNode node : nodes) {
            for (PieceId id : catalogue.of(node.id())) {
                if (!node.store.hasLive(id)) {
                    throw new AssertionError("live piece " + id + " of node " + node.id() + " was trashed");
                }
            }
        }
    }

    long garbageInTrash() {
        return nodes.stream()
                .mapToLong(node ->
                        node.garbage.stream().filter(node.store::hasTrashed).count())
                .sum();
    }

    long garbageLeft() {
        return nodes.stream()
                .mapToLong(node ->
                        node.garbage.stream().filter(node.store::hasLive).count())
                .sum();
    }

    @Override
    public void close() {
        for (SimNode node : nodes) {
            NodeAgent up = node.agent;
            if (up != null) {
                try {
                    up.node().close();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }
    }
}
