package io.holdfast.app.sweep;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Table;
import io.holdfast.sweep.manager.FleetStatus;

/** How a fleet stands, for people. */
final class FleetLines {

    /** Clears a terminal, and begins at its top. */
    private static final String CLEAR = "\u001b[H\u001b[2J";

    private static final int NODES_ON_SCREEN = 30;

    private FleetLines() {}

    static Answer answer(FleetStatus status) {
        Answer answer = status.alarms().isEmpty() ? Answer.ok() : Answer.finding();
        answer.line(head(status))
                .field("owner", status.owner().name())
                .field("cycle", status.cycle())
                .field("phase", status.phase())
                .field("rows", status.rows())
                .field("rowsExpected", status.rowsExpected());
        answer.table("workers", workers(status)).line("").table("nodes", nodes(status, Integer.MAX_VALUE));
        String more = more(status, status.nodes().size());
        if (!more.isEmpty()) {
            answer.line(more.strip());
        }
        status.alarms().forEach(alarm -> answer.line("alarm: " + alarm));
        return answer.field("alarms", status.alarms());
    }

    static String screen(FleetStatus status) {
        StringBuilder text = new StringBuilder(CLEAR).append(head(status)).append("\n\n");
        Answer lines =
                Answer.ok().table("workers", workers(status)).line("").table("nodes", nodes(status, NODES_ON_SCREEN));
        lines.text().forEach(line -> text.append(line).append('\n'));
        text.append(more(status, NODES_ON_SCREEN));
        status.alarms().forEach(alarm -> text.append("alarm: ").append(alarm).append('\n'));
        return text.toString();
    }

    private static String more(FleetStatus status, int shown) {
        int left = status.nodesInAll() - Math.min(shown, status.nodes().size());
        return left == 0 ? "" : "… and " + left + " more nodes\n";
    }

    private static String head(FleetStatus status) {
        return status.cycle() == 0
                ? "no cycle of " + status.owner() + " has begun here"
                : "cycle " + status.cycle() + " of " + status.owner() + ": " + status.phase() + ", " + status.rows()
                        + " of " + status.rowsExpected() + " rows";
    }

    private static Table workers(FleetStatus status) {
        Table table = Table.of("worker", "state", "from", "to", "nodes", "pieces", "sent", "acknowledged");
        for (FleetStatus.OfWorker worker : status.workers()) {
            table.row(
                    worker.address(),
                    worker.state(),
                    worker.firstNode(),
                    worker.lastNode(),
                    worker.nodes(),
                    worker.piecesExpected(),
                    worker.piecesSent(),
                    worker.piecesAcknowledged());
        }
        return table;
    }

    private static Table nodes(FleetStatus status, int most) {
        Table table = Table.of("node", "state", "attempt", "pieces", "wouldTrash", "trashed", "detail");
        status.nodes().stream()
                .limit(most)
                .forEach(node -> table.row(
                        node.node(),
                        node.state(),
                        node.attempt(),
                        node.pieces(),
                        node.wouldTrash(),
                        node.trashed(),
                        node.detail()));
        return table;
    }
}
