package io.holdfast.sweep.rpc;

import io.grpc.stub.StreamObserver;
import io.holdfast.sweep.manager.FleetStatus;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.proto.NodeLine;
import io.holdfast.sweep.proto.RegisterRequest;
import io.holdfast.sweep.proto.RegisterResponse;
import io.holdfast.sweep.proto.StatusRequest;
import io.holdfast.sweep.proto.StatusResponse;
import io.holdfast.sweep.proto.SweepManagerGrpc;
import io.holdfast.sweep.proto.WorkerLine;
import java.util.List;
import java.util.function.Supplier;

/** A manager's port: workers register, people look. */
public final class ManagerService extends SweepManagerGrpc.SweepManagerImplBase {

    /** Nodes of which a status tells; a larger fleet is asked node by node. */
    private static final int NODES_MAX = 15_000;

    private final Registrations registrations;
    private final Supplier<FleetStatus> status;

    public ManagerService(Registrations registrations, Supplier<FleetStatus> status) {
        this.registrations = registrations;
        this.status = status;
    }

    @Override
    public void register(RegisterRequest request, StreamObserver<RegisterResponse> to) {
        Failures.answer(
                to,
                () -> RegisterResponse.newBuilder()
                        .setLeaseMillis(
                                registrations.register(request.getAddress()).toMillis())
                        .build());
    }

    @Override
    public void status(StatusRequest request, StreamObserver<StatusResponse> to) {
        Failures.answer(to, () -> encode(status.get()));
    }

    private static StatusResponse encode(FleetStatus status) {
        StatusResponse.Builder message = StatusResponse.newBuilder()
                .setOwner(status.owner().name())
                .setCycle(status.cycle())
                .setPhase(status.phase())
                .setRows(status.rows())
                .setRowsExpected(status.rowsExpected())
                .addAllAlarms(status.alarms());
        for (FleetStatus.OfWorker worker : status.workers()) {
            message.addWorkers(WorkerLine.newBuilder()
                    .setAddress(worker.address())
                    .setState(worker.state())
                    .setFirstNode(worker.firstNode())
                    .setLastNode(worker.lastNode())
                    .setNodes(worker.nodes())
                    .setPiecesExpected(worker.piecesExpected())
                    .setPiecesSent(worker.piecesSent())
                    .setPiecesAcknowledged(worker.piecesAcknowledged()));
        }
        for (FleetStatus.OfNode node :
                status.nodes().subList(0, Math.min(NODES_MAX, status.nodes().size()))) {
            message.addNodes(NodeLine.newBuilder()
                    .setNodeId(node.node())
                    .setState(node.state())
                    .setAttempt(node.attempt())
                    .setPieces(node.pieces())
                    .setWouldTrash(node.wouldTrash())
                    .setTrashed(node.trashed())
                    .setDetail(node.detail()));
        }
        return message.build();
    }

    static FleetStatus decode(StatusResponse message) {
        List<FleetStatus.OfWorker> workers = message.getWorkersList().stream()
                .map(worker -> new FleetStatus.OfWorker(
                        worker.getAddress(),
                        worker.getState(),
                        worker.getFirstNode(),
                        worker.getLastNode(),
                        worker.getNodes(),
                        worker.getPiecesExpected(),
                        worker.getPiecesSent(),
                        worker.getPiecesAcknowledged()))
                .toList();
        List<FleetStatus.OfNode> nodes = message.getNodesList().stream()
                .map(node -> new FleetStatus.OfNode(
                        node.getNodeId(),
                        node.getState(),
                        node.getAttempt(),
                        node.getPieces(),
                        node.getWouldTrash(),
                        node.getTrashed(),
                        node.getDetail()))
                .toList();
        return new FleetStatus(
                new OwnerId(message.getOwner()),
                message.getCycle(),
                message.getPhase(),
                message.getRows(),
                message.getRowsExpected(),
                workers,
                nodes,
                List.copyOf(message.getAlarmsList()));
    }
}
