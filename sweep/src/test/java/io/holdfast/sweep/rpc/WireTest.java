package io.holdfast.sweep.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.holdfast.HoldfastException;
import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.manager.FleetStatus;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.proto.EndSessionRequest;
import io.holdfast.sweep.proto.EndSessionResponse;
import io.holdfast.sweep.proto.Frame;
import io.holdfast.sweep.proto.FrameReply;
import io.holdfast.sweep.proto.NodeBatch;
import io.holdfast.sweep.proto.NodeBuilt;
import io.holdfast.sweep.proto.NodeToBuild;
import io.holdfast.sweep.proto.SessionId;
import io.holdfast.sweep.proto.SignedText;
import io.holdfast.sweep.proto.StartSessionRequest;
import io.holdfast.sweep.proto.StatusResponse;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.SessionStart;
import io.holdfast.sweep.transfer.Tally;
import java.util.List;
import java.util.Locale;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The limits of messages and fields: what is beyond them is refused, and the largest that is allowed fits. */
class WireTest {

    private static final SessionId SESSION = SessionId.newBuilder()
            .setCycle(1)
            .setToken(1)
            .setAttempt(1)
            .setOwner("photos")
            .build();
    private static final NodeBatch BATCH = NodeBatch.newBuilder()
            .setFirstSequence(1)
            .setFingerprints(bytes(16))
            .build();
    private static final Frame FRAME = Frame.newBuilder()
            .setSessionId(SESSION)
            .setNumber(1)
            .addBatches(BATCH)
            .build();
    private static final StartSessionRequest START = StartSessionRequest.newBuilder()
            .setSessionId(SESSION)
            .addNodes(NodeToBuild.newBuilder().setNodeId("n1").setWords(4).setBlocks(1))
            .build();

    private static ByteString bytes(int count) {
        return ByteString.copyFrom(new byte[count]);
    }

    private static String letters(int count) {
        return "x".repeat(count);
    }

    private static Arguments refused(String what, Runnable decoding) {
        return Arguments.of(what, decoding);
    }

    private static Runnable frame(NodeBatch.Builder batch) {
        return () -> Wire.decode(FRAME.toBuilder().setBatches(0, batch).build());
    }

    private static Runnable start(StartSessionRequest.Builder start) {
        return () -> Wire.decode(start.build());
    }

    private static Runnable node(NodeToBuild.Builder node) {
        return start(START.toBuilder().setNodes(0, node));
    }

    static Stream<Arguments> beyondTheLimits() {
        NodeToBuild.Builder node = START.getNodes(0).toBuilder();
        return Stream.of(
                refused(
                        "cycle 0",
                        () -> Wire.decode(SESSION.toBuilder().setCycle(0).build())),
                refused(
                        "token 0",
                        () -> Wire.decode(SESSION.toBuilder().setToken(0).build())),
                refused(
                        "attempt 0",
                        () -> Wire.decode(SESSION.toBuilder().setAttempt(0).build())),
                refused(
                        "frame 0",
                        () -> Wire.decode(FRAME.toBuilder().setNumber(0).build())),
                refused(
                        "a frame without batches",
                        () -> Wire.decode(FRAME.toBuilder().clearBatches().build())),
                refused("half a fingerprint", frame(BATCH.toBuilder().setFingerprints(bytes(24)))),
                refused("no fingerprint", frame(BATCH.toBuilder().clearFingerprints())),
                refused("piece 0", frame(BATCH.toBuilder().setFirstSequence(0))),
                refused("node -1", frame(BATCH.toBuilder().setOrdinal(-1))),
                refused("a frame too full", frame(BATCH.toBuilder().setFingerprints(bytes(16 * (64 * 1024 + 1))))),
                refused(
                        "no owner",
                        start(START.toBuilder().setSessionId(SESSION.toBuilder().clearOwner()))),
                refused(
                        "a long owner",
                        start(START.toBuilder().setSessionId(SESSION.toBuilder().setOwner(letters(65))))),
                refused("no nodes", start(START.toBuilder().clearNodes())),
                refused("a node twice", start(START.toBuilder().addNodes(node))),
                refused("a long node name", node(node.clone().setNodeId(letters(65)))),
                refused("a path for a node", node(node.clone().setNodeId("../n1"))),
                refused("three words a block", node(node.clone().setWords(3))),
                refused("no block", node(node.clone().setBlocks(0))),
                refused("blocks beyond an array", node(node.clone().setBlocks(Integer.MAX_VALUE))),
                refused("too many nodes", start(manyNodes(SessionStart.NODES_MAX + 1))),
                refused("a long address", () -> Wire.address(letters(300) + ":1")),
                refused("an address without a port", () -> Wire.address("n1")),
                refused(
                        "no signature",
                        () -> Wire.decode(
                                SignedText.newBuilder().setText(bytes(1)).build())),
                refused(
                        "no text",
                        () -> Wire.decode(
                                SignedText.newBuilder().setSignature(bytes(64)).build())),
                refused(
                        "a long text",
                        () -> Wire.decode(SignedText.newBuilder()
                                .setText(bytes(64 * 1024 + 1))
                                .setSignature(bytes(64))
                                .build())),
                refused(
                        "a short digest",
                        () -> Wire.decode(NodeBuilt.newBuilder()
                                .setNodeId("n1")
                                .setDigest(bytes(31))
                                .build())),
                refused(
                        "a gap that is acknowledged",
                        () -> Wire.decode(FrameReply.newBuilder()
                                .setAcknowledged(5)
                                .setMissingFrom(4)
                                .setMissingTo(6)
                                .build())));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("beyondTheLimits")
    void whatIsBeyondALimitIsRefused(String what, Runnable decoding) {
        assertThatThrownBy(decoding::run).isInstanceOf(HoldfastException.class);
    }

    @Test
    void whatIsWithinThemIsTaken() {
        assertThat(Wire.decode(FRAME).pieces()).isEqualTo(1);
        assertThat(Wire.decode(START).nodes()).hasSize(1);
    }

    private static StartSessionRequest.Builder manyNodes(int count) {
        StartSessionRequest.Builder start = START.toBuilder().clearNodes();
        IntStream.range(0, count)
                .forEach(i -> start.addNodes(START.getNodes(0).toBuilder().setNodeId(longest(i))));
        return start;
    }

    /** A name as long as names may be. */
    private static String longest(int number) {
        return String.format(Locale.ROOT, "n%063d", number);
    }

    private static <T> List<T> of(int count, IntFunction<T> make) {
        return IntStream.range(0, count).mapToObj(make).toList();
    }

    @Test
    void theLargestSessionFitsIntoAMessageAtItsBeginningAndAtItsEnd() {
        List<NodeId> nodes = of(SessionStart.NODES_MAX, i -> new NodeId(longest(i)));
        StartSessionRequest start = Wire.encode(new SessionStart(
                new SessionKey(Fleet.PHOTOS, Long.MAX_VALUE, Long.MAX_VALUE, Integer.MAX_VALUE),
                -1,
                new Tally.Keys(-1, -1),
                nodes.stream()
                        .map(node ->
                                new io.holdfast.sweep.transfer.NodeToBuild(node, FilterGeometry.forRate(1L << 34, 0.1)))
                        .toList()));
        assertThat(start.getSerializedSize()).isLessThan(Wire.MESSAGE_MAX);
        EndSessionRequest.Builder end = EndSessionRequest.newBuilder().setSessionId(start.getSessionId());
        EndSessionResponse.Builder built = EndSessionResponse.newBuilder();
        for (NodeId node : nodes) {
            end.putNodeEndingSequence(node.name(), Long.MAX_VALUE);
            built.addNodes(Wire.encode(new io.holdfast.sweep.transfer.NodeBuilt(
                    node, new Tally.Sum(Long.MAX_VALUE, -1, -1), Long.MAX_VALUE, "", letters(5000))));
        }
        assertThat(end.build().getSerializedSize()).isLessThan(Wire.MESSAGE_MAX);
        assertThat(built.build().getSerializedSize()).isLessThan(Wire.MESSAGE_MAX);
    }

    @Test
    void theStatusOfAVeryLargeFleetFitsIntoAMessageAndSaysWhatItLeavesOut() {
        long much = Long.MAX_VALUE;
        FleetStatus status = new FleetStatus(
                Fleet.PHOTOS,
                7,
                "scan",
                much,
                much,
                of(
                        10_000,
                        i -> new FleetStatus.OfWorker(
                                letters(250) + ":7001",
                                "lost: " + letters(900),
                                longest(i),
                                longest(i),
                                9,
                                much,
                                much,
                                much)),
                of(50_000, i -> new FleetStatus.OfNode(longest(i), "examining", 9, much, much, much, letters(900))),
                50_000,
                of(500, i -> letters(5000)));
        StatusResponse message = ManagerService.encode(status);
        assertThat(message.getSerializedSize()).isLessThan(Wire.MESSAGE_MAX);
        FleetStatus seen = ManagerService.decode(message);
        assertThat(seen.nodesInAll()).isEqualTo(50_000);
        assertThat(seen.nodes()).hasSizeGreaterThan(12_000);
        assertThat(seen.nodes().getFirst()).isEqualTo(status.nodes().getFirst());
    }
}
