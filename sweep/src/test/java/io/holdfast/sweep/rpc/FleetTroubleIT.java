package io.holdfast.sweep.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.StreamObserver;
import io.holdfast.sweep.manager.CycleReport;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.proto.ProgressRequest;
import io.holdfast.sweep.proto.ProgressResponse;
import io.holdfast.sweep.proto.SignedText;
import io.holdfast.sweep.proto.SweepNodeGrpc;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** One node or worker of a fleet is in trouble: it is said which and why, and the rest goes on. */
class FleetTroubleIT {

    @RegisterExtension
    final LoopbackFleet fleet = new LoopbackFleet();

    @BeforeEach
    void open() throws IOException {
        fleet.node("n1", 400, 80).node("n2", 300, 60).worker();
    }

    private static String failed(CycleReport report, String node) {
        List<CycleReport.OfNode> failed = report.in("failed");
        assertThat(failed)
                .singleElement()
                .satisfies(one -> assertThat(one.node()).isEqualTo(new NodeId(node)));
        return failed.getFirst().detail();
    }

    @Test
    void aNodeWhoseDiskIsFullSaysSoAndTheRestGoesOn() throws IOException {
        AtomicBoolean full = new AtomicBoolean();
        fleet.node("n3", 200, 40, fleet.time, full::get);
        fleet.age();
        fleet.manager().run();
        full.set(true);
        CycleReport report = fleet.manager().run();
        assertThat(failed(report, "n3")).contains("No space left on device");
        assertThat(report.in("done")).hasSize(2);
        full.set(false);
        assertThat(fleet.manager().run().in("failed")).isEmpty();
        assertThat(fleet.everyLivePieceIsThere()).isTrue();
        assertThat(fleet.garbageLeft()).isLessThan(20);
    }

    @Test
    void aNodeWhoseClockIsOffByADayRefusesAndTheRestGoesOn() throws IOException {
        fleet.node("late", 200, 40, new LoopbackFleet.Shifted(fleet.wall, Duration.ofDays(-1)), () -> false);
        fleet.node("soon", 200, 40, new LoopbackFleet.Shifted(fleet.wall, Duration.ofDays(1)), () -> false);
        fleet.age();
        for (int cycle = 0; cycle < 2; cycle++) {
            CycleReport report = fleet.manager().run();
            assertThat(report.in("failed"))
                    .hasSize(2)
                    .allSatisfy(node -> assertThat(node.detail()).containsIgnoringCase("clock"));
            assertThat(report.in("failed"))
                    .extracting(CycleReport.OfNode::node)
                    .containsExactly(new NodeId("late"), new NodeId("soon"));
        }
        assertThat(fleet.everyLivePieceIsThere()).isTrue();
        assertThat(fleet.garbageLeft())
                .as("all of the two that refuse, and what chance lets through of the others")
                .isBetween(80L, 100L);
    }

    @Test
    void aNodeThatTakesNoCallsIsLeftOutAndTheRestGoesOn() throws IOException {
        fleet.age();
        try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            CycleReport report = fleet.manager()
                    .nodes(List.of(fleet.peers.node(new NodeId("mute"), "127.0.0.1:" + mute.getLocalPort())))
                    .run();
            assertThat(failed(report, "mute")).contains("cannot be reached");
            assertThat(report.in("waiting")).hasSize(2);
        }
    }

    /** It could otherwise make room for others in the fleet's limit. */
    @Test
    void aNodeThatAnswersNonsenseIsLeftOutAndTheRestGoesOn() throws IOException {
        fleet.age();
        ProgressResponse sound = ProgressResponse.newBuilder()
                .setNodeId("odd")
                .setIdBytes(16)
                .setState("UNKNOWN")
                .build();
        for (ProgressResponse odd : List.of(
                sound.toBuilder().setWouldTrash(-1).build(),
                sound.toBuilder().setIdBytes(0).build(),
                sound.toBuilder().setIdBytes(65).build(),
                sound.toBuilder().setState("HAPPY").build(),
                sound.toBuilder().setNodeId("../odd").build())) {
            try (RpcServer server = RpcServer.start("127.0.0.1:0", new OddNode(odd), Optional.empty(), Set.of())) {
                CycleReport report = fleet.manager()
                        .nodes(List.of(fleet.peers.node(new NodeId("odd"), server.address())))
                        .run();
                assertThat(failed(report, "odd"))
                        .as(odd.toString())
                        .containsAnyOf("says that it keeps ids of", "answers nonsense", "node name '../odd'");
            }
        }
    }

    private static final class OddNode extends SweepNodeGrpc.SweepNodeImplBase {
        private final ProgressResponse answer;

        OddNode(ProgressResponse answer) {
            this.answer = answer;
        }

        @Override
        public void progress(ProgressRequest request, StreamObserver<ProgressResponse> to) {
            to.onNext(answer);
            to.onCompleted();
        }
    }

    @Test
    void anotherNodeBehindTheAddressIsNotTakenForTheOneThatIsMeant() throws IOException {
        fleet.age();
        String address = fleet.address("n1");
        CycleReport report = fleet.manager()
                .nodes(List.of(fleet.peers.node(new NodeId("n9"), address)))
                .run();
        assertThat(failed(report, "n9")).contains("is node n1");
    }

    @Test
    void aMessageLargerThanTheNodeTakesIsRefusedAndTheNodeGoesOn() {
        String address = fleet.address("n1");
        ManagedChannel channel = NettyChannelBuilder.forTarget("dns:///" + address)
                .usePlaintext()
                .build();
        try {
            SignedText tooLarge = SignedText.newBuilder()
                    .setText(ByteString.copyFrom(new byte[5 << 20]))
                    .build();
            assertThatThrownBy(() -> {
                        var unused = SweepNodeGrpc.newBlockingStub(channel).carry(tooLarge);
                    })
                    .isInstanceOfSatisfying(
                            StatusRuntimeException.class,
                            e -> assertThat(e.getStatus().getCode())
                                    .as("refused by its size, before anybody looks at it")
                                    .isNotEqualTo(Status.Code.INVALID_ARGUMENT));
        } finally {
            channel.shutdownNow();
        }
        assertThat(fleet.peers
                        .node(new NodeId("n1"), address)
                        .progress(Fleet.PHOTOS, 0)
                        .lastCycle())
                .isZero();
    }
}
