package io.holdfast.sweep.rpc;

import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.filter.FilterFormat;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.manager.NodePort;
import io.holdfast.sweep.node.NodeAgent;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.node.NodeStatus;
import io.holdfast.sweep.node.Suspect;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.proto.AlarmLine;
import io.holdfast.sweep.proto.CarryResponse;
import io.holdfast.sweep.proto.Done;
import io.holdfast.sweep.proto.ProgressRequest;
import io.holdfast.sweep.proto.ProgressResponse;
import io.holdfast.sweep.proto.RetainChunk;
import io.holdfast.sweep.proto.SweepNodeGrpc;
import io.holdfast.sweep.retain.Order;
import io.holdfast.sweep.retain.Signed;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A storage node in another process. */
public final class RemoteNode implements NodePort {

    private static final int CALL_SECONDS = 10;
    private static final int RESTORE_SECONDS = 3600;
    private static final int RETAIN_SECONDS = 600;
    /** A filter may arrive as slowly as 1 MiB a second. */
    private static final int BYTES_A_SECOND_LOG = 20;

    private final NodeId id;
    private final String address;
    private final ManagedChannel channel;

    RemoteNode(NodeId id, String address, ManagedChannel channel) {
        this.id = id;
        this.address = address;
        this.channel = channel;
    }

    @Override
    public NodeId id() {
        return id;
    }

    @Override
    public String address() {
        return address;
    }

    @Override
    public NodeProgress progress(OwnerId owner, long cycle) {
        try {
            return decode(
                    SweepNodeGrpc.newBlockingStub(channel)
                            .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
                            .progress(ProgressRequest.newBuilder()
                                    .setOwner(owner.name())
                                    .setCycle(cycle)
                                    .build()),
                    owner);
        } catch (StatusRuntimeException e) {
            throw Failures.decode("node " + id + " at " + address, e);
        } catch (IllegalArgumentException e) {
            throw new HoldfastException(Category.CORRUPT, "node " + id + " answers nonsense: " + e.getMessage(), e);
        }
    }

    /** Restoring and emptying take their time; the other orders only begin something, and a node that hangs is left. */
    private static int seconds(Order.Kind kind) {
        return kind == Order.Kind.RESTORE || kind == Order.Kind.EMPTY ? RESTORE_SECONDS : CALL_SECONDS;
    }

    @Override
    public NodeAgent.Carried carry(Signed order) {
        try {
            CarryResponse answer = SweepNodeGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(seconds(Order.decode(order.text()).kind()), TimeUnit.SECONDS)
                    .carry(Wire.encode(order));
            return new NodeAgent.Carried(answer.getCount(), Wire.words(answer.getDetail()));
        } catch (StatusRuntimeException e) {
            throw Failures.decode("node " + id + " at " + address, e);
        }
    }

    private static NodeProgress decode(ProgressResponse message, OwnerId owner) {
        List<NodeStatus.Alarm> alarms = new ArrayList<>();
        for (AlarmLine alarm :
                message.getAlarmsList().subList(0, Math.min(Wire.ALARMS_MAX, message.getAlarmsCount()))) {
            alarms.add(new NodeStatus.Alarm(
                    owner,
                    alarm.getCycle(),
                    PieceId.of(alarm.getPieceId().toByteArray()),
                    Instant.ofEpochMilli(alarm.getAtMillis())));
        }
        return new NodeProgress(
                new NodeId(message.getNodeId()),
                message.getIdBytes(),
                message.getLastCycle(),
                NodeProgress.State.valueOf(message.getState()),
                message.getExamined(),
                Wire.words(message.getDigest()),
                Wire.words(message.getVerdict()),
                message.getWouldTrash(),
                message.getWouldTrashBytes(),
                message.getTrashed(),
                message.getTrashedBytes(),
                message.getLive(),
                message.getYoung(),
                message.getFailed(),
                Wire.words(message.getDetail()),
                alarms,
                Wire.words(message.getTrashBuilder()),
                message.getSuspectsList().stream()
                        .limit(Suspect.MOST)
                        .map(suspect -> new Suspect(
                                suspect.getCycle(),
                                PieceId.of(suspect.getPieceId().toByteArray())))
                        .toList());
    }

    /** How long a filter may take to arrive and to be checked. */
    static long seconds(long filterBytes) {
        return RETAIN_SECONDS + (filterBytes >> BYTES_A_SECOND_LOG);
    }

    /** Sends a filter, and waits until the node has checked it. */
    void retain(Signed manifest, LiveFilter filter) {
        Upload<RetainChunk, Done> upload = new Upload<>();
        SweepNodeGrpc.newStub(channel)
                .withDeadlineAfter(seconds(filter.geometry().bytes()), TimeUnit.SECONDS)
                .retain(upload);
        RetainChunk first =
                RetainChunk.newBuilder().setManifest(Wire.encode(manifest)).build();
        var unused = upload.send(
                "node " + id + " at " + address,
                first,
                bytes -> RetainChunk.newBuilder().setFilter(bytes).build(),
                out -> FilterFormat.write(filter, out));
    }
}
