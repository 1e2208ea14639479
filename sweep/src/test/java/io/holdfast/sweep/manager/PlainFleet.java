package io.holdfast.sweep.manager;

import io.holdfast.DutyRunner;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ManualTime;
import io.holdfast.Time;
import io.holdfast.sweep.SweepSettings;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.InMemoryCatalogue;
import io.holdfast.sweep.filter.FilterFormat;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.node.NodeAgent;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.node.NodeSettings;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.retain.SigningKey;
import io.holdfast.sweep.transfer.Frame;
import io.holdfast.sweep.transfer.NodeBuilt;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.SessionStart;
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
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;

/**
 * Manager, workers and nodes of the product in one thread, joined by plain calls: a test puts a liar in the place of one
 * of them. Waiting moves the clock.
 */
final class PlainFleet implements AutoCloseable {

    static final OwnerId OWNER = Fleet.PHOTOS;
    private static final Duration TICK = Duration.ofSeconds(10);
    private static final Instant NEVER = Instant.parse("2100-01-01T00:00:00Z");

    final ManualTime time;
    final InMemoryCatalogue catalogue;
    final KeyRing ring;
    final Map<String, NodePort> nodes = new TreeMap<>();
    final Map<String, StorageNode> stores = new TreeMap<>();
    final Map<String, WorkerPort> workers = new TreeMap<>();
    final Map<String, List<PieceId>> live = new TreeMap<>();
    final Map<String, List<PieceId>> garbage = new TreeMap<>();
    private final SigningKey key = SigningKey.generate("manager-1");
    private final Map<OwnerId, String> cycles = new HashMap<>();
    private final Fleet fleet;
    private final SplittableRandom random;
    private DutyRunner duties;
    private boolean believesOneWorker;

    PlainFleet(Path folder) {
        this(folder, 42);
    }

    PlainFleet(Path folder, long seed) {
        random = new SplittableRandom(seed);
        fleet = new Fleet(folder);
        time = fleet.time;
        duties = DutyRunner.manual(time);
        catalogue = new InMemoryCatalogue(OWNER, "db-1", time);
        ring = KeyRing.of(List.of(KeyRing.entry(key, KeyRing.Role.MANAGER, Instant.EPOCH, NEVER)));
    }

    /** A node with pieces old enough to be judged; an earlier cycle has used up its dry run. */
    PlainFleet node(String name, int livePieces, int garbagePieces) throws IOException {
        return node(name, livePieces, garbagePieces, time, () -> false);
    }

    /** A node with a clock of its own, whose disk may be full. */
    PlainFleet node(String name, int livePieces, int garbagePieces, Time clock, BooleanSupplier full)
            throws IOException {
        StorageNode node = fleet.add(Fleet.onDiskThatFills(fleet.builder(name), full)
                .time(clock)
                .set(NodeSettings.BRAKE, 100)
                .set(NodeSettings.SPARE_WINDOW, Duration.ofHours(1))
                .open());
        List<PieceId> known = Fleet.ids(name.hashCode(), livePieces);
        List<PieceId> unknown = Fleet.ids(name.hashCode() + 1000L, garbagePieces);
        Fleet.put(node, OWNER, known);
        Fleet.put(node, OWNER, unknown);
        known.forEach(id -> catalogue.add(new NodeId(name), id));
        live.put(name, known);
        garbage.put(name, unknown);
        stores.put(name, node);
        nodes.put(name, new DirectNode(new NodeAgent(node, ring, Runnable::run, clock)));
        return this;
    }

    /** Puts something in the place of a node. */
    void replace(String name, UnaryOperator<NodePort> by) {
        nodes.compute(name, (n, port) -> by.apply(Objects.requireNonNull(port)));
    }

    PlainFleet worker(String name) {
        return worker(name, (incarnation, delivery) -> new SweepWorker(incarnation, 1L << 24, ring, delivery, time));
    }

    PlainFleet worker(String name, BiFunction<Long, SweepWorker.Delivery, SweepWorker> maker) {
        SweepWorker worker = maker.apply(workers.size() + 1L, this::retain);
        workers.put(name, new DirectWorker(name, worker));
        return this;
    }

    private void retain(String address, Signed manifest, LiveFilter filter) {
        try {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            FilterFormat.write(filter, bytes);
            NodePort to = Objects.requireNonNull(nodes.get(address));
            agentOf(to).retain(manifest, new ByteArrayInputStream(bytes.toByteArray()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static NodeAgent agentOf(NodePort port) {
        return switch (port) {
            case DirectNode direct -> direct.agent();
            case LyingNode lying -> agentOf(lying.truth());
            default -> throw new HoldfastException(Category.RETRY, "node " + port.id() + " cannot be reached");
        };
    }

    SweepManager manager() {
        return manager(catalogue);
    }

    SweepManager manager(Catalogue of) {
        return SweepManager.of(of, key, store(), "test")
                .nodes(nodes.values())
                .workers(() -> new ArrayList<>(workers.values()))
                .time(time)
                .set(SweepSettings.FLEET_LIMIT, 100)
                .set(ManagerSettings.BELIEVE_ONE_WORKER, believesOneWorker)
                .set(SweepSettings.FALSE_POSITIVES, "0.0001")
                .stepped((monitor, atMost) -> step(atMost), random::nextLong, new Parts(), () -> {
                    duties = DutyRunner.manual(time);
                    return duties;
                });
    }

    PlainFleet believingOneWorker() {
        believesOneWorker = true;
        return this;
    }

    StorageNode store(String node) {
        return Objects.requireNonNull(stores.get(node));
    }

    CycleStore store() {
        return new CycleStore() {
            @Override
            public Optional<String> read(OwnerId owner) {
                return Optional.ofNullable(cycles.get(owner));
            }

            @Override
            public boolean compareAndSet(OwnerId owner, Optional<String> expected, String next) {
                if (!Optional.ofNullable(cycles.get(owner)).equals(expected)) {
                    return false;
                }
                cycles.put(owner, next);
                return true;
            }
        };
    }

    CycleLog.State state() throws IOException {
        return new CycleLog(store(), time).state(OWNER);
    }

    /** Ages what is there, as if the last row of the catalogue were committed just now, and uses up the dry runs. */
    PlainFleet dryRun() {
        age();
        manager().run();
        return this;
    }

    void age() {
        time.advance(Duration.ofHours(3));
        live.forEach((node, ids) -> ids.stream().findFirst().ifPresent(id -> catalogue.add(new NodeId(node), id)));
    }

    /** Lets time pass, for all that happens by itself. */
    void step(Duration by) {
        for (Duration left = by; left.isPositive(); left = left.minus(TICK)) {
            time.advance(left.compareTo(TICK) < 0 ? left : TICK);
            duties.runDue();
        }
    }

    /** Eight days later a cycle, and what two cycles agree on is deleted for good. */
    SweepManager.Emptied emptyAfterAWeek() {
        time.advance(Duration.ofDays(8));
        age();
        manager().run();
        return manager().empty();
    }

    long inTrash(String node) throws IOException {
        StorageNode of = Objects.requireNonNull(stores.get(node));
        long trashed = 0;
        for (PieceId id : garbage.getOrDefault(node, List.of())) {
            trashed += of.why(id).facts().filter(facts -> !facts.isLive()).isPresent() ? 1 : 0;
        }
        return trashed;
    }

    long liveTrashed() throws IOException {
        long gone = 0;
        for (Map.Entry<String, List<PieceId>> node : live.entrySet()) {
            var there = Fleet.live(Objects.requireNonNull(stores.get(node.getKey())), OWNER);
            gone += node.getValue().stream().filter(id -> !there.contains(id)).count();
        }
        return gone;
    }

    List<PieceId> live(String node) {
        return live.getOrDefault(node, List.of());
    }

    List<PieceId> garbage(String node) {
        return garbage.getOrDefault(node, List.of());
    }

    long garbageLeft(String node) throws IOException {
        var there = Fleet.live(Objects.requireNonNull(stores.get(node)), OWNER);
        return garbage.getOrDefault(node, List.of()).stream()
                .filter(there::contains)
                .count();
    }

    @Override
    public void close() throws IOException {
        fleet.close();
    }

    /** A node by plain calls. */
    record DirectNode(NodeAgent agent) implements NodePort {
        @Override
        public NodeId id() {
            return agent.node().id();
        }

        @Override
        public String address() {
            return id().name();
        }

        @Override
        public NodeProgress progress(OwnerId owner, long cycle) {
            try {
                return agent.progress(owner, cycle);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public NodeAgent.Carried carry(Signed order) {
            try {
                return agent.carry(order);
            } catch (IOException e) {
                throw new HoldfastException(Category.RETRY, e.toString(), e);
            }
        }
    }

    /** A node that says something else than what is. */
    record LyingNode(NodePort truth, UnaryOperator<NodeProgress> lie, UnaryOperator<NodeAgent.Carried> carried)
            implements NodePort {
        @Override
        public NodeId id() {
            return truth.id();
        }

        @Override
        public String address() {
            return truth.address();
        }

        @Override
        public NodeProgress progress(OwnerId owner, long cycle) {
            return lie.apply(truth.progress(owner, cycle));
        }

        @Override
        public NodeAgent.Carried carry(Signed order) {
            return carried.apply(truth.carry(order));
        }
    }

    /** A worker by plain calls. */
    static class DirectWorker implements WorkerPort {
        private final String name;
        final SweepWorker worker;

        DirectWorker(String name, SweepWorker worker) {
            this.name = name;
            this.worker = worker;
        }

        @Override
        public String address() {
            return name;
        }

        @Override
        public Pong ping() {
            return new Pong(worker.incarnation(), worker.filterMemory(), worker.filterMemoryUsed(), "key " + name);
        }

        @Override
        public void start(SessionStart start) {
            worker.start(start);
        }

        @Override
        public Link open(SessionKey session, Replies replies) {
            return new Link() {
                @Override
                public void send(Frame frame) {
                    replies.reply(worker.session(frame.session()).take(frame));
                }

                @Override
                public void close() {}
            };
        }

        @Override
        public List<NodeBuilt> end(SessionKey session, Map<NodeId, Long> endings) {
            return worker.session(session).end(endings);
        }

        @Override
        public Optional<HoldfastException> deliver(SessionKey session, NodeId node, String address, Signed manifest) {
            return worker.deliver(session, node, address, manifest);
        }

        @Override
        public void drop(SessionKey session) {
            worker.drop(session);
        }
    }
}
