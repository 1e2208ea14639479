package io.holdfast.sweep.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.StreamObserver;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.SweepSettings;
import io.holdfast.sweep.manager.CycleLog;
import io.holdfast.sweep.manager.CycleReport;
import io.holdfast.sweep.manager.FleetStatus;
import io.holdfast.sweep.manager.ManagerSettings;
import io.holdfast.sweep.manager.NodePort;
import io.holdfast.sweep.manager.Orders;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.proto.Frame;
import io.holdfast.sweep.proto.FrameReply;
import io.holdfast.sweep.proto.NodeBatch;
import io.holdfast.sweep.proto.PingRequest;
import io.holdfast.sweep.proto.PingResponse;
import io.holdfast.sweep.proto.SweepWorkerGrpc;
import io.holdfast.sweep.retain.Order;
import io.holdfast.sweep.retain.SigningKey;
import io.holdfast.sweep.worker.PlantedWorkers;
import io.holdfast.sweep.worker.PlantedWorkers.Lie;
import io.holdfast.sweep.worker.SweepWorker;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A fleet over real sockets: what works, who lies, what is wrong. */
class FleetIT {

    @RegisterExtension
    final LoopbackFleet fleet = new LoopbackFleet();

    @BeforeEach
    void open() throws IOException {
        fleet.node("n1", 400, 80).node("n2", 300, 60).node("n3", 0, 20);
        fleet.age();
    }

    @Test
    void dryRunThenTrashThenTheRest() throws IOException {
        fleet.worker().worker();
        CycleReport dry = fleet.manager().run();
        assertThat(dry.cycle()).isEqualTo(1);
        assertThat(dry.in("waiting")).hasSize(3);
        assertThat(dry.trashed()).isZero();
        CycleReport second = fleet.manager().run();
        assertThat(second.in("done")).hasSize(2);
        assertThat(fleet.garbageLeft()).isLessThan(30);
        assertThat(fleet.everyLivePieceIsThere()).isTrue();
        fleet.manager().run();
        assertThat(fleet.garbageLeft())
                .as("only the node without live pieces waits for an operator")
                .isLessThanOrEqualTo(21);
        assertThat(alarms()).isEmpty();
    }

    @Test
    void moreThanTheFleetsLimitIsTrashedByNoNode() throws IOException {
        fleet.worker();
        fleet.manager().run();
        CycleReport report = fleet.manager().set(SweepSettings.FLEET_LIMIT, 10).run();
        assertThat(report.note()).contains("more than the fleet's limit of 10 %");
        assertThat(report.in("waiting")).hasSize(3);
        assertThat(fleet.garbageLeft()).isEqualTo(160);
        assertThat(fleet.manager().run().trashed()).isPositive();
    }

    @Test
    void trashIsEmptiedByTheFirstLaterSnapshotThatIsAWeekYounger() throws IOException {
        fleet.worker().worker();
        fleet.manager().run();
        long trashed = fleet.manager().run().trashed();
        assertThat(trashed).isPositive();
        fleet.wall.advance(Duration.ofDays(6));
        fleet.touch();
        fleet.manager().run();
        assertThat(fleet.manager().empty().removed()).as("old by no snapshot").isZero();
        fleet.wall.advance(Duration.ofDays(2));
        assertThat(fleet.manager().empty().removed()).as("no later snapshot").isZero();
        fleet.touch();
        fleet.manager().run();
        assertThat(fleet.manager().empty().removed())
                .as("all but what the later filter answers to by chance")
                .isBetween(trashed - 10, trashed);
        assertThat(fleet.everyLivePieceIsThere()).isTrue();
    }

    @Test
    void anOperatorApprovesRestoresAndNobodyElseDoes() throws IOException {
        fleet.worker();
        CycleReport dry = fleet.manager().run();
        NodePort port = fleet.port("n1");
        NodeProgress planned = port.progress(Fleet.PHOTOS, dry.cycle());
        assertThatThrownBy(() -> port.carry(order(fleet.managerKey, planned, Order.Kind.APPROVE, 1)))
                .hasMessageContaining("needs operator's");
        assertThatThrownBy(() -> port.carry(fleet.operator()
                        .order(
                                Order.Kind.APPROVE,
                                Fleet.PHOTOS,
                                port.id(),
                                1,
                                planned.digest(),
                                planned.wouldTrash() + 1,
                                "ann")))
                .hasMessageContaining("no plan");
        assertThat(fleet.garbageLeft()).isEqualTo(160);
        port.carry(order(fleet.operatorKey, planned, Order.Kind.APPROVE, 1));
        Awaitility.await().until(() -> port.progress(Fleet.PHOTOS, 1).state() == NodeProgress.State.DONE);
        assertThat(fleet.garbageLeft()).isLessThan(90);
        port.carry(order(fleet.operatorKey, planned, Order.Kind.RESTORE, 1));
        assertThat(fleet.garbageLeft()).isEqualTo(160);
    }

    @Test
    void operatorAcceptsLossesOfANodeThatRuns() throws IOException {
        fleet.worker();
        StorageNode node = Objects.requireNonNull(fleet.nodes.get("n1"));
        List<PieceId> known = Objects.requireNonNull(fleet.live.get("n1"));
        fleet.manager().run();
        for (PieceId id : known.subList(0, 12)) {
            node.delete(Fleet.PHOTOS, id);
        }
        // The deletes are older than the next snapshot: by then the catalogue should not know the pieces any more.
        fleet.wall.advance(Duration.ofHours(2));
        fleet.touch();
        assertThat(fleet.manager().run().in("waiting"))
                .extracting(CycleReport.OfNode::node)
                .contains(new NodeId("n1"));
        NodePort port = fleet.port("n1");
        assertThatThrownBy(() -> port.carry(new Orders(fleet.managerKey, fleet.time)
                        .order(Order.Kind.LOSSES, Fleet.PHOTOS, port.id(), 0, "", 12, "manager")))
                .hasMessageContaining("needs operator's");
        port.carry(fleet.operator().order(Order.Kind.LOSSES, Fleet.PHOTOS, port.id(), 0, "", 12, "ann"));
        assertThat(fleet.manager().run().in("done"))
                .extracting(CycleReport.OfNode::node)
                .contains(new NodeId("n1"));
    }

    private io.holdfast.sweep.retain.Signed order(SigningKey key, NodeProgress planned, Order.Kind kind, long cycle) {
        return new io.holdfast.sweep.manager.Orders(key, fleet.time)
                .order(kind, Fleet.PHOTOS, planned.node(), cycle, planned.digest(), planned.wouldTrash(), "ann");
    }

    @ParameterizedTest
    @EnumSource(Lie.class)
    void aWorkerThatLiesDeletesNothingAndIsToldOf(Lie lie) throws IOException {
        boolean needsTwo = lie == Lie.MISSING_ONE;
        fleet.worker((incarnation, delivery) -> liar(incarnation, delivery, lie));
        fleet.worker(
                (incarnation, delivery) -> needsTwo ? honest(incarnation, delivery) : liar(incarnation, delivery, lie));
        for (int cycle = 0; cycle < 2; cycle++) {
            // With one piece in ten let through by chance, a filter that lacks one id may be as good as a whole one.
            CycleReport report = fleet.manager()
                    .set(ManagerSettings.BUILDERS, needsTwo ? 2 : 1)
                    .set(SweepSettings.FALSE_POSITIVES, "0.0001")
                    .run();
            assertThat(report.trashed()).isZero();
        }
        assertThat(fleet.everyLivePieceIsThere()).isTrue();
        assertThat(alarms()).isNotEmpty();
    }

    private SweepWorker liar(long incarnation, SweepWorker.Delivery delivery, Lie lie) {
        return PlantedWorkers.lying(incarnation, fleet.ring, delivery, fleet.time, lie);
    }

    private SweepWorker honest(long incarnation, SweepWorker.Delivery delivery) {
        return new SweepWorker(incarnation, 1L << 26, fleet.ring, delivery, fleet.time);
    }

    @Test
    void twoBuildersThatAgreeAreSigned() throws IOException {
        fleet.worker().worker().worker();
        fleet.manager().set(ManagerSettings.BUILDERS, 2).run();
        CycleReport report = fleet.manager().set(ManagerSettings.BUILDERS, 2).run();
        assertThat(report.in("done")).hasSize(2);
        assertThat(report.trashed()).isGreaterThan(100);
    }

    @Test
    void workerBehindTwoAddressesIsOneBuilder() throws IOException {
        SigningKey stolen = SigningKey.generate("stolen");
        for (int address = 0; address < 2; address++) {
            fleet.worker(stolen, (incarnation, delivery) -> liar(incarnation, delivery, Lie.MISSING_ONE));
        }
        for (int cycle = 0; cycle < 2; cycle++) {
            CycleReport report =
                    fleet.manager().set(ManagerSettings.BUILDERS, 2).run();
            assertThat(report.in("failed"))
                    .hasSize(3)
                    .allSatisfy(node -> assertThat(node.detail()).contains("1 workers answer and 2 are needed"));
        }
        assertThat(fleet.everyLivePieceIsThere()).isTrue();
    }

    /** A stolen host passes the challenge on to an honest worker, to appear as that one at another address. */
    @Test
    void proofOfAnotherAddressIsNoIdentity() {
        fleet.worker();
        WorkerService relay = new WorkerService(honest(9, (a, m, f) -> {}), SigningKey.generate("unused")) {
            @Override
            public void ping(PingRequest request, StreamObserver<PingResponse> to) {
                ManagedChannel honest = channel();
                try {
                    to.onNext(SweepWorkerGrpc.newBlockingStub(honest).ping(request));
                    to.onCompleted();
                } finally {
                    honest.shutdownNow();
                }
            }
        };
        try (RpcServer server = RpcServer.start("127.0.0.1:0", relay, java.util.Optional.empty(), java.util.Set.of())) {
            assertThatThrownBy(() -> fleet.peers.worker(server.address()).ping())
                    .hasMessageContaining(
                            "proves that it is at " + fleet.workers.getFirst().address());
        }
    }

    private ManagedChannel channel() {
        return NettyChannelBuilder.forTarget(
                        "dns:///" + fleet.workers.getFirst().address())
                .usePlaintext()
                .build();
    }

    @Test
    void whoCannotBeReachedIsNamedAndTheRestGoesOn() throws IOException {
        fleet.worker().worker();
        fleet.workers.getFirst().close();
        Objects.requireNonNull(fleet.nodeServers.get("n2")).close();
        CycleReport report = fleet.manager().run();
        assertThat(report.in("waiting")).hasSize(2);
        assertThat(report.in("failed")).singleElement().satisfies(node -> {
            assertThat(node.node()).isEqualTo(new NodeId("n2"));
            assertThat(node.detail()).contains("cannot be reached");
        });
    }

    @Test
    void noWorkerAtAllIsSaid() throws IOException {
        CycleReport report = fleet.manager().run();
        assertThat(report.in("failed"))
                .hasSize(3)
                .allSatisfy(node -> assertThat(node.detail()).contains("0 workers answer"));
    }

    @Test
    void aWorkerTooSmallSaysHowMuchIsNeeded() throws IOException {
        fleet.worker((incarnation, delivery) -> new SweepWorker(incarnation, 64, fleet.ring, delivery, fleet.time));
        CycleReport report = fleet.manager().run();
        assertThat(report.in("failed"))
                .hasSize(3)
                .allSatisfy(node -> assertThat(node.detail()).contains("bytes; free are 64 of 64"));
    }

    @Test
    void aKeyThatNobodyKnowsSignsInVain() throws IOException {
        fleet.worker();
        CycleReport report = fleet.manager(SigningKey.generate("stranger")).run();
        assertThat(report.trashed()).isZero();
        assertThat(report.in("failed"))
                .hasSize(3)
                .allSatisfy(node -> assertThat(node.detail()).contains("not in the ring"));
    }

    @Test
    void aRevokedKeyCountsForNothing() throws IOException {
        fleet.worker();
        fleet.ring.revoke("manager-1", fleet.time.instant());
        CycleReport report = fleet.manager().run();
        assertThat(report.in("failed"))
                .hasSize(3)
                .allSatisfy(node -> assertThat(node.detail()).contains("revoked"));
    }

    @Test
    void aSecondManagerWaitsForTheFirst() throws IOException {
        fleet.log().begin(Fleet.PHOTOS, "the first", 1, Duration.ofMinutes(1));
        fleet.worker();
        assertThatThrownBy(() -> fleet.manager().run()).hasMessageContaining("is run by the first");
        fleet.wall.advance(Duration.ofMinutes(2));
        assertThat(fleet.manager().run().cycle()).isEqualTo(2);
    }

    @Test
    void workersRegisterAndTheStatusIsSeenFromAfar() throws IOException {
        Registrations registrations = new Registrations(fleet.time);
        FleetStatus status =
                new FleetStatus(Fleet.PHOTOS, 7, "scan", 5, 10, List.of(), List.of(), 0, List.of("a thing"));
        try (RpcServer manager = RpcServer.start(
                "127.0.0.1:0",
                new ManagerService(registrations, () -> status),
                java.util.Optional.empty(),
                java.util.Set.of())) {
            Duration lease = fleet.peers.register(manager.address(), "127.0.0.1:7001");
            assertThat(lease).isPositive();
            assertThat(registrations.addresses()).containsExactly("127.0.0.1:7001");
            assertThat(fleet.peers.status(manager.address())).isEqualTo(status);
            assertThatThrownBy(() -> fleet.peers.register(manager.address(), "x y"))
                    .isInstanceOf(HoldfastException.class);
        }
    }

    @Test
    void anOversizedMessageIsRefusedAndTheWorkerGoesOn() throws Exception {
        fleet.worker();
        ManagedChannel channel = channel();
        try {
            CompletableFuture<Throwable> failure = new CompletableFuture<>();
            StreamObserver<Frame> stream = SweepWorkerGrpc.newStub(channel).addPieces(new StreamObserver<>() {
                @Override
                public void onNext(FrameReply reply) {}

                @Override
                public void onError(Throwable e) {
                    failure.complete(e);
                }

                @Override
                public void onCompleted() {}
            });
            stream.onNext(Frame.newBuilder()
                    .addBatches(NodeBatch.newBuilder()
                            .setFingerprints(com.google.protobuf.ByteString.copyFrom(new byte[5 << 20])))
                    .build());
            assertThat(Failures.decode("worker", failure.get(10, TimeUnit.SECONDS))
                            .category())
                    .isIn(Category.FULL, Category.RETRY);
        } finally {
            channel.shutdownNow();
        }
        assertThat(fleet.peers.worker(fleet.workers.getFirst().address()).ping().incarnation())
                .isEqualTo(1);
    }

    private List<CycleLog.Alarm> alarms() throws IOException {
        return fleet.log().state(Fleet.PHOTOS).alarms();
    }
}
