package io.holdfast.sweep.manager;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.SweepSettings;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.node.MemoryFolder;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.node.NodeStatus;
import io.holdfast.sweep.node.Suspect;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.Order;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.transfer.NodeBuilt;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.SessionStart;
import io.holdfast.sweep.worker.PlantedWorkers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One worker or node lies or is broken: no live piece is trashed, and the healthy nodes are swept. */
class HostilePeersTest {

    @TempDir(factory = MemoryFolder.class)
    private Path folder;

    private PlainFleet fleet;

    @BeforeEach
    void open() {
        fleet = new PlainFleet(folder);
    }

    @AfterEach
    void close() throws IOException {
        fleet.close();
    }

    private void threeNodes() throws IOException {
        fleet.node("n1", 1000, 40).node("n2", 1000, 40).node("n3", 1000, 40);
    }

    private void assertHealthyNodesSwept() throws IOException {
        assertThat(fleet.garbageLeft("n1")).as("garbage of n1").isZero();
        assertThat(fleet.garbageLeft("n2")).as("garbage of n2").isZero();
        assertThat(fleet.liveTrashed()).as("live pieces trashed").isZero();
    }

    private static UnaryOperator<NodePort> lying(UnaryOperator<NodeProgress> lie) {
        return port -> new PlainFleet.LyingNode(port, lie, carried -> carried);
    }

    /** Both workers are in league: what one learns from a manifest, the other knows. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void workerThatReadWitnessesInAFailedDeliveryCannotForgeAFilter(int accomplices) throws IOException {
        fleet.node("n1", 2000, 40).worker("honest");
        fleet.dryRun();
        fleet.workers.clear();
        PlantedWorkers.WitnessThief thief = new PlantedWorkers.WitnessThief();
        for (int i = 1; i <= accomplices; i++) {
            String name = "thief-" + i;
            fleet.worker(name, (incarnation, delivery) -> thief.worker(incarnation, fleet.ring, delivery, fleet.time));
            fleet.workers.computeIfPresent(name, (n, port) -> thiefPort((PlainFleet.DirectWorker) port, thief));
        }
        fleet.age();
        CycleReport report = fleet.manager().run();
        assertThat(thief.witnesses()).as("the thief has read witnesses").isNotEmpty();
        assertThat(fleet.liveTrashed()).as(report.toString()).isZero();
    }

    private static WorkerPort thiefPort(PlainFleet.DirectWorker port, PlantedWorkers.WitnessThief thief) {
        return new PlainFleet.DirectWorker(port.address(), port.worker) {
            @Override
            public Optional<HoldfastException> deliver(
                    SessionKey session, NodeId node, String address, Signed manifest) {
                if (thief.read(manifest)) {
                    throw new HoldfastException(Category.RETRY, "the connection is lost");
                }
                return super.deliver(session, node, address, manifest);
            }
        };
    }

    @Test
    void catalogueThatTakesFiveMinutesToOpenIsSwept() throws IOException {
        threeNodes();
        fleet.worker("w1").dryRun().age();
        CycleReport report = fleet.manager(slowToOpen(Duration.ofMinutes(5))).run();
        assertThat(report.in("done")).hasSize(3);
        assertHealthyNodesSwept();
    }

    private Catalogue slowToOpen(Duration opening) {
        return new Catalogue() {
            @Override
            public OwnerId owner() {
                return PlainFleet.OWNER;
            }

            @Override
            public Snapshot open() {
                Snapshot snapshot = fleet.catalogue.open();
                fleet.step(opening);
                return snapshot;
            }
        };
    }

    @Test
    void nodeThatClaimsManyExaminedPiecesDoesNotLiftTheFleetLimit() throws IOException {
        fleet.node("n1", 100, 60)
                .node("n2", 100, 60)
                .node("n3", 100, 0)
                .worker("w1")
                .dryRun();
        fleet.age();
        fleet.replace(
                "n3",
                lying(progress ->
                        with(progress).examined(1_000_000_000_000_000L).build()));
        CycleReport report = fleet.manager().set(SweepSettings.FLEET_LIMIT, 10).run();
        assertThat(report.note()).contains("fleet's limit");
        assertThat(fleet.garbageLeft("n1") + fleet.garbageLeft("n2")).isEqualTo(120);
    }

    @ParameterizedTest
    @ValueSource(longs = {1_000_000_000L, Long.MAX_VALUE, Long.MAX_VALUE / 100 + 1})
    void nodeThatClaimsMuchGarbageDoesNotHoldBackTheOthers(long garbage) throws IOException {
        threeNodes();
        fleet.worker("w1").dryRun().age();
        fleet.replace(
                "n3",
                lying(progress ->
                        with(progress).examined(garbage).wouldTrash(garbage).build()));
        fleet.manager().set(SweepSettings.FLEET_LIMIT, 10).run();
        assertHealthyNodesSwept();
    }

    @Test
    void nodeThatMakesOnePieceOfProgressEveryNineMinutesIsGivenUp() throws IOException {
        threeNodes();
        fleet.worker("w1").dryRun().age();
        long[] examined = {0};
        fleet.replace("n3", lying(progress -> {
            if (examined[0] > 10_000) {
                throw new AssertionError("the manager still waits after " + examined[0] + " looks");
            }
            fleet.step(Duration.ofMinutes(9));
            return with(progress)
                    .state(NodeProgress.State.EXAMINING)
                    .examined(++examined[0])
                    .build();
        }));
        CycleReport report = fleet.manager().run();
        assertThat(report.in("failed")).extracting(node -> node.node().name()).containsExactly("n3");
        assertHealthyNodesSwept();
    }

    @ParameterizedTest
    @ValueSource(longs = {Long.MAX_VALUE, Long.MAX_VALUE - 1, 1L << 40})
    void nodeThatClaimsAHugeCycleDoesNotEndTheNumbering(long claimed) throws IOException {
        threeNodes();
        fleet.worker("w1").dryRun().age();
        fleet.replace("n3", lying(progress -> with(progress).lastCycle(claimed).build()));
        CycleReport report = fleet.manager().run();
        assertThat(report.cycle()).isLessThan(5000);
        assertThat(report.in("failed")).extracting(node -> node.node().name()).containsExactly("n3");
        assertHealthyNodesSwept();
    }

    /** Found by the simulation, seed 1715: the number went into the log, and every node refused what came after it. */
    @Test
    void nodeThatClaimsAHugeCycleWhileTheOthersAreAwayDoesNotEndTheNumbering() throws IOException {
        threeNodes();
        fleet.worker("w1").dryRun().age();
        Map<String, NodePort> honest = Map.copyOf(fleet.nodes);
        UnaryOperator<NodePort> away = lying(progress -> {
            throw new HoldfastException(Category.RETRY, "it cannot be reached");
        });
        fleet.replace("n1", away);
        fleet.replace("n2", away);
        fleet.replace("n3", lying(progress -> with(progress).lastCycle(1L << 49).build()));
        fleet.manager().run();
        fleet.nodes.putAll(honest);
        fleet.age();
        CycleReport report = fleet.manager().run();
        assertThat(report.cycle()).isLessThan(5000);
        assertThat(report.in("done")).hasSize(3);
        assertHealthyNodesSwept();
    }

    @Test
    void alarmForAPieceTheCatalogueKnowsDoesNotStopTheOthers() throws IOException {
        threeNodes();
        fleet.worker("w1").dryRun().age();
        PieceId known = fleet.live("n3").getFirst();
        fleet.replace("n3", lying(progress -> with(progress).alarm(1, known).build()));
        fleet.manager().run();
        assertHealthyNodesSwept();
        assertThat(fleet.state().alarms()).as("a person is told").isNotEmpty();
        fleet.age();
        assertThat(fleet.manager().run().in("failed"))
                .as("the next cycle runs too")
                .isEmpty();
    }

    @Test
    void alarmWithAnIdOfTheWrongLengthDoesNotAbortTheCycle() throws IOException {
        threeNodes();
        fleet.worker("w1").dryRun().age();
        fleet.replace(
                "n3",
                lying(progress ->
                        with(progress).alarm(1, PieceId.of(new byte[5])).build()));
        fleet.manager().run();
        assertHealthyNodesSwept();
    }

    @Test
    void failingEndOfAnAlarmDoesNotAbortTheCycle() throws IOException {
        threeNodes();
        fleet.worker("w1").dryRun().age();
        PieceId unknown = fleet.garbage("n3").getFirst();
        fleet.replace(
                "n3",
                port -> new PlainFleet.LyingNode(
                        port, progress -> with(progress).alarm(1, unknown).build(), carried -> {
                            throw new HoldfastException(Category.CORRUPT, "no order is carried out here");
                        }));
        fleet.manager().run();
        assertHealthyNodesSwept();
    }

    @Test
    void nodeThatLiesAboutTheLengthOfItsIdsDoesNotAbortTheCycle() throws IOException {
        threeNodes();
        fleet.worker("w1").dryRun().age();
        fleet.replace("n3", lying(progress -> with(progress).idBytes(20).build()));
        CycleReport report = fleet.manager().run();
        assertThat(report.in("failed")).extracting(node -> node.node().name()).containsExactly("n3");
        assertHealthyNodesSwept();
    }

    @ParameterizedTest
    @ValueSource(strings = {"\rcycle 9", "\nalarm 2026-01-01T00:00:00Z stop forged", "\u2028x\u0085y\u000bz\f"})
    void controlCharactersOfANodeNeitherForgeNorBreakTheLogOfCycles(String text) throws IOException {
        threeNodes();
        fleet.worker("w1").dryRun().age();
        fleet.replace(
                "n3",
                lying(progress -> progress.state() == NodeProgress.State.UNKNOWN
                        ? progress
                        : with(progress)
                                .verdict("TOO_FEW_HITS")
                                .detail("odd" + text)
                                .build()));
        fleet.manager().run();
        assertThat(fleet.state().alarms()).singleElement().satisfies(alarm -> {
            assertThat(alarm.stops()).isFalse();
            assertThat(alarm.text()).contains("odd").doesNotContainPattern("[\\p{Cntrl}\\u2028\\u2029]");
        });
        assertHealthyNodesSwept();
    }

    @Test
    void nodeWhoseEmptyingFailsDoesNotKeepTheOthersFromIt() throws IOException {
        threeNodes();
        fleet.worker("w1").worker("w2").dryRun().age();
        fleet.manager().run();
        fleet.replace("n1", port -> new NodePort() {
            @Override
            public NodeId id() {
                return port.id();
            }

            @Override
            public String address() {
                return port.address();
            }

            @Override
            public NodeProgress progress(OwnerId owner, long cycle) {
                return port.progress(owner, cycle);
            }

            @Override
            public io.holdfast.sweep.node.NodeAgent.Carried carry(Signed order) {
                if (Order.decode(order.text()).kind() == Order.Kind.EMPTY) {
                    throw new HoldfastException(Category.RETRY, "No space left on device");
                }
                return port.carry(order);
            }
        });
        fleet.emptyAfterAWeek();
        assertThat(fleet.inTrash("n1")).isEqualTo(40);
        assertThat(fleet.inTrash("n2") + fleet.inTrash("n3")).isZero();
    }

    /** Each question to a catalogue that is a file reads the whole file. */
    @Test
    void catalogueIsReadOnceMoreForAllSuspectsTogether() throws IOException {
        threeNodes();
        fleet.worker("w1").worker("w2").dryRun().age();
        List<PieceId> back = fleet.garbage("n1").subList(0, 10);
        fleet.manager().run();
        back.forEach(id -> fleet.catalogue.add(new NodeId("n1"), id));
        fleet.age();
        AtomicInteger scans = new AtomicInteger();
        fleet.manager(countingScans(scans)).run();
        assertThat(Fleet.live(fleet.store("n1"), PlainFleet.OWNER)).containsAll(back);
        assertThat(scans.get()).as("one to count, one to build, one to ask").isEqualTo(3);
    }

    /** Tells nothing but by being read from its beginning to its end. */
    private Catalogue countingScans(AtomicInteger scans) {
        return new Catalogue() {
            @Override
            public OwnerId owner() {
                return PlainFleet.OWNER;
            }

            @Override
            public Snapshot open() {
                Snapshot view = fleet.catalogue.open();
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
                    public void scan(int range, PieceSink sink) throws Exception {
                        scans.incrementAndGet();
                        for (int i = 0; i < view.ranges(); i++) {
                            view.scan(i, sink);
                        }
                    }

                    @Override
                    public boolean contains(NodeId node, byte[] id) throws Exception {
                        boolean[] found = new boolean[1];
                        scan(0, (of, one, created) -> found[0] |= of.equals(node) && Arrays.equals(one, id));
                        return found[0];
                    }
                };
            }
        };
    }

    /** A node has examined long before the others: a worker was lost, and its nodes are scanned and built again. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void nodeThatWasReadyInTheFirstAttemptIsSweptThoughTheSecondTakesHours(boolean silentOnce) throws IOException {
        threeNodes();
        fleet.worker("w1").worker("w2").dryRun().age();
        fleet.workers.computeIfPresent("w2", (name, port) -> lostAtTheEnd((PlainFleet.DirectWorker) port));
        boolean[] late = new boolean[1];
        boolean[] answered = new boolean[1];
        UnaryOperator<NodePort> silent = lying(progress -> {
            if (silentOnce && late[0] && !answered[0]) {
                answered[0] = true;
                throw new HoldfastException(Category.RETRY, "the answer was lost");
            }
            return progress;
        });
        fleet.replace("n1", silent);
        fleet.replace("n2", silent);
        fleet.replace("n3", silent);
        CycleReport report =
                fleet.manager(slowToScanAgain(Duration.ofHours(3), late)).run();
        assertThat(report.attempts()).isEqualTo(2);
        assertThat(report.in("done")).as(report.toString()).hasSize(3);
        assertHealthyNodesSwept();
    }

    private static WorkerPort lostAtTheEnd(PlainFleet.DirectWorker port) {
        return new PlainFleet.DirectWorker(port.address(), port.worker) {
            @Override
            public List<NodeBuilt> end(SessionKey session, Map<NodeId, Long> endings) {
                throw new HoldfastException(Category.GONE, "it was restarted");
            }
        };
    }

    @Test
    void workerThatWasLostGetsNothingInLaterAttempts() throws IOException {
        threeNodes();
        fleet.worker("w1").worker("w2").dryRun().age();
        AtomicInteger starts = new AtomicInteger();
        fleet.workers.computeIfPresent(
                "w2", (name, port) -> new PlainFleet.DirectWorker(name, ((PlainFleet.DirectWorker) port).worker) {
                    @Override
                    public void start(SessionStart start) {
                        starts.incrementAndGet();
                        super.start(start);
                    }

                    @Override
                    public List<NodeBuilt> end(SessionKey session, Map<NodeId, Long> endings) {
                        throw new HoldfastException(Category.GONE, "it was restarted");
                    }
                });
        CycleReport report = fleet.manager().run();
        assertThat(report.attempts()).isEqualTo(2);
        assertThat(starts.get()).isEqualTo(1);
        assertThat(report.in("done")).hasSize(3);
    }

    @Test
    void workerThatCannotBeToldThatTheCycleIsOverDoesNotAbortIt() throws IOException {
        threeNodes();
        fleet.worker("w1").dryRun().age();
        fleet.workers.computeIfPresent(
                "w1", (name, port) -> new PlainFleet.DirectWorker(name, ((PlainFleet.DirectWorker) port).worker) {
                    @Override
                    public void drop(SessionKey session) {
                        throw new HoldfastException(Category.MISUSE, "what session?");
                    }
                });
        assertThat(fleet.manager().run().in("done")).hasSize(3);
        assertThat(fleet.state().outcome()).doesNotContain("aborted");
    }

    private Catalogue slowToScanAgain(Duration scan, boolean[] late) {
        return new Catalogue() {
            @Override
            public OwnerId owner() {
                return PlainFleet.OWNER;
            }

            @Override
            public Snapshot open() {
                Snapshot view = fleet.catalogue.open();
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
                        view.scan(range, sink);
                    }

                    @Override
                    public void scan(int range, Set<NodeId> nodes, PieceSink sink) throws Exception {
                        if (range == 0) {
                            fleet.step(scan);
                            late[0] = true;
                        }
                        view.scan(range, nodes, sink);
                    }

                    @Override
                    public Optional<Map<NodeId, Long>> counts() throws Exception {
                        return view.counts();
                    }

                    @Override
                    public boolean contains(NodeId node, byte[] id) throws Exception {
                        return view.contains(node, id);
                    }
                };
            }
        };
    }

    /** Twenty-five nodes name as many suspects as they may; the last in order of names has a live piece in its trash. */
    @Test
    void nodesWithManySuspectsDoNotKeepTheCycleFromAskingAboutAnother() throws IOException {
        fleet.node("zz", 300, 40).worker("w1").worker("w2");
        List<Suspect> invented = Fleet.ids(99, Suspect.MOST).stream()
                .map(id -> new Suspect(1, id))
                .toList();
        for (int i = 10; i < 35; i++) {
            fleet.node("n" + i, 10, 0);
        }
        fleet.dryRun().age();
        for (int i = 10; i < 35; i++) {
            fleet.replace(
                    "n" + i,
                    lying(progress -> progress.state() == NodeProgress.State.EXAMINED
                            ? with(progress).suspects(invented).build()
                            : progress));
        }
        fleet.manager().run();
        PieceId known = fleet.garbage("zz").getFirst();
        fleet.catalogue.add(new NodeId("zz"), known);
        fleet.age();
        fleet.manager().run();
        assertThat(Fleet.live(fleet.store("zz"), PlainFleet.OWNER)).contains(known);
    }

    @Test
    void manyAlarmsOfOneNodeDoNotKeepAnotherNodesFromAPerson() throws IOException {
        threeNodes();
        fleet.worker("w1").worker("w2").dryRun();
        int[] at = {0};
        fleet.replace(
                "n2",
                lying(progress -> with(progress)
                        .alarms(fleet.live("n2").stream()
                                .skip(at[0])
                                .limit(200)
                                .map(id -> new NodeStatus.Alarm(PlainFleet.OWNER, 1, id, Instant.EPOCH))
                                .toList())
                        .build()));
        for (int cycle = 0; cycle < 3; cycle++) {
            fleet.age();
            fleet.manager().run();
            at[0] += 200;
        }
        PieceId read = fleet.live("n3").getFirst();
        fleet.replace("n3", lying(progress -> with(progress).alarm(1, read).build()));
        fleet.age();
        fleet.manager().run();
        assertThat(fleet.state().alarms()).anyMatch(alarm -> alarm.text().contains(read.toString()));
        assertThat(fleet.state().alarms()).as("bounded").hasSizeLessThan(50);
    }

    /** A worker that says that nodes refuse its filters, or that it cannot reach them. */
    @ParameterizedTest
    @EnumSource(
            value = Category.class,
            names = {"MISUSE", "CORRUPT", "RETRY"})
    void workerThatSaysThatNodesRefuseDoesNotFailThem(Category category) throws IOException {
        threeNodes();
        fleet.worker("w1").worker("w2").dryRun().age();
        fleet.workers.computeIfPresent(
                "w1", (name, port) -> new PlainFleet.DirectWorker(name, ((PlainFleet.DirectWorker) port).worker) {
                    @Override
                    public Optional<HoldfastException> deliver(
                            SessionKey session, NodeId node, String address, Signed manifest) {
                        return Optional.of(new HoldfastException(category, "node " + node + " wants nothing of it"));
                    }
                });
        CycleReport report = fleet.manager().run();
        assertThat(report.in("done")).as(report.toString()).hasSize(3);
        assertHealthyNodesSwept();
    }

    private static ProgressLie with(NodeProgress truth) {
        return new ProgressLie(truth);
    }
}
