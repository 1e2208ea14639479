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

    /** So many lines and words fit into one message; what of a larger fleet is left out, its nodes tell themselves. */
    private static final int NODES_MAX = 15_000;

    private static final int WORKERS_MAX = 1000;
    private static final int DETAILS_MAX = 1 << 20;

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

    static StatusResponse encode(FleetStatus status) {
        StatusResponse.Builder message = StatusResponse.newBuilder()
                .setOwner(status.owner().name())
                .setCycle(status.cycle())
                .setPhase(status.phase())
                .setRows(status.rows())
                .setRowsExpected(status.rowsExpected())
                .setNodesInAll(status.nodesInAll());
        status.alarms().stream().limit(Wire.ALARMS_MAX).map(Wire::words).forEach(message::addAlarms);
        for (FleetStatus.OfWorker worker : first(WORKERS_MAX, status.workers())) {
            message.addWorkers(WorkerLine.newBuilder()
                    .setAddress(worker.address())
                    .setState(Wire.words(worker.state(), Wire.WORDS_OF_A_NODE_MAX))
                    .setFirstNode(worker.firstNode())
                    .setLastNode(worker.lastNode())
                    .setNodes(worker.nodes())
                    .setPiecesExpected(worker.piecesExpected())
                    .setPiecesSent(worker.piecesSent())
                    .setPiecesAcknowledged(worker.piecesAcknowledged()));
        }
        int details = 0;
        for (FleetStatus.OfNode node : first(NODES_MAX, status.nodes())) {
            String detail = Wire.words(node.detail(), details < DETAILS_MAX ? Wire.WORDS_MAX : 1);
            details += detail.length();
            message.addNodes(NodeLine.newBuilder()
                    .setNodeId(node.node())
                    .setState(node.state())
                    .setAttempt(node.attempt())
                    .setPieces(node.pieces())
                    .setWouldTrash(node.wouldTrash())
                    .setTrashed(node.trashed())
                    .setDetail(detail));
        }
        return message.build();
    }

    private static <T> List<T> first(int most, List<T> of) {
        return of.subList(0, Math.min(most, of.size()));
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
                message.getNodesInAll(),
                List.copyOf(message.getAlarmsList()));
    }
}
