package io.holdfast.sweep.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.manager.CycleDuty;
import io.holdfast.sweep.manager.CycleReport;
import io.holdfast.sweep.manager.FleetStatus;
import io.holdfast.sweep.manager.ManagerSettings;
import io.holdfast.sweep.manager.SweepManager;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What a manager and a worker do by themselves, stepped by hand. */
class DutiesIT {

    private static final Duration INTERVAL = Duration.ofDays(5);

    @RegisterExtension
    final LoopbackFleet fleet = new LoopbackFleet();

    private final Told told = new Told();

    private static final class Told implements CycleDuty.Listener {
        private final List<CycleReport> ended = new ArrayList<>();
        private final List<String> failed = new ArrayList<>();

        @Override
        public void ended(CycleReport report, long emptied) {
            ended.add(report);
        }

        @Override
        public void failed(HoldfastException why) {
            failed.add("" + why.getMessage());
        }
    }

    @BeforeEach
    void open() throws IOException {
        fleet.node("n1", 40, 8).node("n2", 30, 6).node("n3", 50, 10);
        fleet.age();
    }

    private CycleDuty duty(SweepManager manager) {
        return new CycleDuty(manager, INTERVAL, false, told);
    }

    @Test
    void aCycleRunsWhenTheIntervalHasPassedWhoeverRanTheLast() throws Exception {
        CycleDuty first = duty(fleet.manager());
        assertThat(first.step().next()).as("nobody builds yet").isPositive();
        assertThat(told.ended).isEmpty();
        fleet.worker();
        first.step();
        assertThat(told.ended).hasSize(1);
        CycleDuty second = duty(fleet.manager());
        for (CycleDuty one : List.of(first, second)) {
            Duty.Step step = one.step();
            assertThat(step.done()).isZero();
            assertThat(step.next()).isPositive();
        }
        assertThat(told.ended).hasSize(1);
        fleet.wall.advance(INTERVAL);
        second.step();
        first.step();
        assertThat(told.ended).extracting(CycleReport::cycle).containsExactly(1L, 2L);
        assertThat(told.failed).isEmpty();
    }

    @Test
    void aCycleThatWasAbortedIsTriedAgainSoonerThanAnIntervalLater() throws Exception {
        fleet.worker();
        AtomicBoolean away = new AtomicBoolean(true);
        CycleDuty duty = duty(fleet.manager(fleet.managerKey, new Catalogue() {
            @Override
            public OwnerId owner() {
                return Fleet.PHOTOS;
            }

            @Override
            public Snapshot open() throws IOException {
                if (away.get()) {
                    throw new IOException("the database is away");
                }
                return fleet.catalogue.open();
            }
        }));
        duty.step();
        assertThat(told.failed).singleElement().asString().contains("the database is away");
        away.set(false);
        duty.step();
        assertThat(told.ended).isEmpty();
        fleet.wall.advance(Duration.ofMinutes(11));
        duty.step();
        assertThat(told.ended)
                .singleElement()
                .satisfies(report -> assertThat(report.in("failed")).isEmpty());
    }

    @Test
    void rowWithAnIdOfTheWrongLengthFailsItsNodeAndNoOther() throws Exception {
        fleet.worker();
        fleet.catalogue.add(new NodeId("n1"), PieceId.of(new byte[5]));
        CycleReport report = fleet.manager().run();
        assertThat(report.in("failed")).singleElement().satisfies(node -> {
            assertThat(node.node()).isEqualTo(new NodeId("n1"));
            assertThat(node.detail()).contains("an id of 5 bytes");
        });
        assertThat(report.in("waiting")).hasSize(2);
    }

    @Test
    void aSubsetOfTheNodesIsTakenEachTimeThoseFirstThatHaveWaitedLongest() throws Exception {
        fleet.worker();
        List<List<String>> taken = new ArrayList<>();
        for (int cycle = 0; cycle < 3; cycle++) {
            CycleReport report =
                    fleet.manager().set(ManagerSettings.NODES_PER_CYCLE, 2).run();
            taken.add(report.nodes().stream()
                    .map(CycleReport.OfNode::node)
                    .map(Object::toString)
                    .toList());
        }
        assertThat(taken).containsExactly(List.of("n1", "n2"), List.of("n1", "n3"), List.of("n1", "n2"));
    }

    @Test
    void aWorkerKeepsItselfRegisteredWhileManagersComeAndGo() throws Exception {
        Registrations registrations = new Registrations(fleet.time);
        FleetStatus idle = new FleetStatus(Fleet.PHOTOS, 0, "idle", 0, 0, List.of(), List.of(), 0, List.of());
        List<String> said = new ArrayList<>();
        String address;
        RegisterDuty duty;
        try (RpcServer manager = RpcServer.start(
                "127.0.0.1:0", new ManagerService(registrations, () -> idle), Optional.empty(), Set.of())) {
            address = manager.address();
            duty = new RegisterDuty(fleet.peers, address, "127.0.0.1:7001", said::add);
            assertThat(duty.step().next()).isPositive();
            duty.step();
            registrations.await();
            assertThat(registrations.addresses()).containsExactly("127.0.0.1:7001");
        }
        assertThat(duty.step().done()).isZero();
        duty.step();
        assertThat(said).as("each change once").hasSize(2);
        assertThat(said.getLast()).contains("cannot be reached");
    }
}
