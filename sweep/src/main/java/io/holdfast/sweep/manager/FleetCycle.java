package io.holdfast.sweep.manager;

import io.holdfast.Time;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.cycle.Counted;
import io.holdfast.sweep.cycle.Heard;
import io.holdfast.sweep.cycle.LeaseDuty;
import io.holdfast.sweep.cycle.Marked;
import io.holdfast.sweep.cycle.Marker;
import io.holdfast.sweep.cycle.TrashJudge;
import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.node.NodeStatus;
import io.holdfast.sweep.node.Suspect;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.Built;
import io.holdfast.sweep.retain.Manifest;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One cycle over a fleet. What concerns the nodes alone is {@link NodeRounds}; who builds the filters is a {@link Marker}.
 *
 * <pre>
 *   open the snapshot, count                                  one view for everything below
 *   while nodes are pending, and attempts are left:
 *       let the marker build their filters, and prove them    {@link WorkerMarker}: workers, compared with what was sent
 *       draw witnesses, sign, deliver                         only what is proved
 *   await what the nodes found                                in the trash first, then among the live
 *   ask the snapshot about suspects in the trash              known: brought back, with an alarm
 *   close the snapshot
 *   release, await what the nodes trashed
 * </pre>
 */
final class FleetCycle {

    private final SweepManager.Config config;
    private final CycleLog.Ticket ticket;
    private final LeaseDuty lease;
    private final TreeMap<NodeId, NodeRun> nodes = new TreeMap<>();
    private final Map<String, Duration> took = new HashMap<>();

    private volatile String phase = "count";
    private volatile long rows;
    private volatile long rowsExpected;
    private volatile @Nullable WorkerMarker workers;
    private int attempts;
    private Instant cutoff = Instant.EPOCH;
    private String incarnation = "";

    FleetCycle(SweepManager.Config config, CycleLog.Ticket ticket, LeaseDuty lease) {
        this.config = config;
        this.ticket = ticket;
        this.lease = lease;
    }

    /** Runs it to the end, as far as nodes and workers let it. */
    CycleReport run(List<SweepManager.Seen> fit, Map<NodeId, String> unfit, ScanThreads callers) throws Exception {
        try (ScanThreads threads = config.threads().get()) {
            WorkerMarker marker = new WorkerMarker(config, ticket, lease, threads, callers, watch);
            workers = marker;
            try {
                return run(marker, threads, fit, unfit, callers);
            } finally {
                marker.drop();
            }
        }
    }

    private CycleReport run(
            Marker marker,
            ScanThreads threads,
            List<SweepManager.Seen> fit,
            Map<NodeId, String> unfit,
            ScanThreads callers)
            throws Exception {
        NodeRounds rounds = new NodeRounds(this, marker, callers);
        try (Catalogue.Snapshot snapshot = config.catalogue().open()) {
            incarnation = snapshot.incarnation();
            build(plan(snapshot, threads, fit), marker, rounds);
            long built = nanos();
            phase = "examine";
            rounds.awaitExamined();
            judgeTrash(snapshot, fit);
            lap("examine", built);
        }
        long examined = nanos();
        phase = "trash";
        String note = rounds.release();
        rounds.awaitDone();
        lap("trash", examined);
        phase = "done";
        return report(unfit, note);
    }

    private final WorkerMarker.Watch watch = new WorkerMarker.Watch() {
        @Override
        public void phase(String now) {
            phase = now;
        }

        @Override
        public void rows(long done) {
            rows = done;
        }

        @Override
        public void lap(String part, long fromNanos) {
            FleetCycle.this.lap(part, fromNanos);
        }

        @Override
        public void alarm(String about, String text) throws IOException {
            FleetCycle.this.alarm(about, text);
        }
    };

    private void lap(String part, long from) {
        took.merge(part, Duration.ofNanos(nanos() - from), Duration::plus);
    }

    private Counted plan(Catalogue.Snapshot snapshot, ScanThreads threads, List<SweepManager.Seen> fit)
            throws Exception {
        long began = nanos();
        Counted counted = Counted.of(snapshot, threads, done -> {
            rows = done;
            requireHeld();
        });
        requireHeld();
        rowsExpected = counted.inAll();
        for (SweepManager.Seen seen : fit) {
            NodeId id = seen.port().id();
            long pieces = counted.of(id);
            nodes.put(
                    id,
                    new NodeRun(
                            seen.port(),
                            seen.progress().idBytes(),
                            pieces,
                            FilterGeometry.forRate(pieces, config.rate()),
                            new Built(seen.progress().trashBuilder()),
                            nanos()));
        }
        lap("count", began);
        return counted;
    }

    /** Attempt after attempt, until each node has its filter, or is given up. */
    private void build(Counted counted, Marker marker, NodeRounds rounds) throws Exception {
        for (int number = 1; number <= config.attempts(); number++) {
            SortedMap<NodeId, NodeRun> pending = pending();
            if (pending.isEmpty()) {
                return;
            }
            requireHeld();
            SortedMap<NodeId, Marker.Wish> wishes = new TreeMap<>();
            pending.forEach((id, node) -> wishes.put(id, node.wish()));
            Marker.Outcome outcome = marker.mark(counted, wishes, number);
            int attempt = number;
            pending.forEach((id, node) -> node.marked(outcome, attempt, nanos()));
            cutoff = marker.cutoff();
            attempts = outcome.filters().isEmpty() && outcome.missing().isEmpty() ? attempts : number;
            phase = "deliver";
            long compared = nanos();
            rounds.deliver();
            lap("deliver", compared);
        }
        pending().values().forEach(node -> node.fail(node.detail + "; no attempt is left"));
    }

    private SortedMap<NodeId, NodeRun> pending() {
        TreeMap<NodeId, NodeRun> pending = new TreeMap<>(nodes);
        pending.values().removeIf(node -> !node.is(NodeRun.State.PENDING));
        return pending;
    }

    /** What is signed about a node's filter. */
    Manifest manifest(NodeId node, Marked filter) {
        Instant now = time().instant();
        return filter.manifest(
                owner(),
                node,
                ticket.cycle(),
                now,
                cutoff,
                incarnation,
                config.orders().keyId());
    }

    /** Asks the snapshot about pieces that were read in the trash, or are in the trash and in the new filter. */
    private void judgeTrash(Catalogue.Snapshot snapshot, List<SweepManager.Seen> fit) throws Exception {
        requireHeld();
        List<Accused> accused = new ArrayList<>();
        fit.forEach(seen -> accused.add(new Accused(seen, nodes.get(seen.port().id()))));
        for (var found : TrashJudge.judge(snapshot, random(), accused).entrySet()) {
            for (String finding : found.getValue()) {
                alarm("node:" + found.getKey(), "cycle " + ticket.cycle() + ": " + finding);
            }
        }
    }

    /** A node, as it stood before the cycle, and as it has examined. */
    private final class Accused implements TrashJudge.Accused {
        private final SweepManager.Seen before;
        private final @Nullable NodeRun run;

        Accused(SweepManager.Seen before, @Nullable NodeRun run) {
            this.before = before;
            this.run = run;
        }

        @Override
        public NodeId node() {
            return before.port().id();
        }

        @Override
        public List<Suspect> read() {
            return before.progress().alarms().stream()
                    .map(NodeStatus.Alarm::piece)
                    .toList();
        }

        @Override
        public List<Suspect> suspects() {
            NodeProgress told = run == null ? null : run.progress;
            return run != null && told != null && run.is(NodeRun.State.EXAMINED) ? told.suspects() : List.of();
        }

        @Override
        public void settle(Suspect read) {
            requireHeld();
            config.orders().endAlarm(before.port(), owner(), read);
        }

        @Override
        public boolean rescue(Suspect suspect) {
            requireHeld();
            return config.orders().rescue(before.port(), owner(), suspect) > 0;
        }
    }

    /** Throws LAPSED if the right to this cycle is lost, which ends the cycle wherever it is. */
    void requireHeld() {
        lease.requireHeld();
    }

    /** @param about the peer that it is about; so many of one peer are kept, and no more */
    void alarm(String about, String text) throws IOException {
        config.note("alarm: " + Heard.text(text));
        config.log().raise(owner(), false, about, text);
    }

    private CycleReport report(Map<NodeId, String> unfit, String note) {
        List<CycleReport.OfNode> all = new ArrayList<>();
        nodes.values()
                .forEach(node -> all.add(new CycleReport.OfNode(
                        node.id(),
                        word(node),
                        node.attempt,
                        node.pieces,
                        Optional.ofNullable(node.progress),
                        node.detail)));
        unfit.forEach((node, why) -> all.add(new CycleReport.OfNode(node, "failed", 0, 0, Optional.empty(), why)));
        long marked = nodes.values().stream().mapToLong(node -> node.pieces).sum();
        return new CycleReport(owner(), ticket.cycle(), cutoff, marked, attempts, all, note, took);
    }

    private static String word(NodeRun node) {
        return node.state().name().toLowerCase(java.util.Locale.ROOT);
    }

    FleetStatus status(List<String> alarms) {
        WorkerMarker marker = workers;
        List<FleetStatus.OfNode> lines = new ArrayList<>();
        for (NodeRun node : List.copyOf(nodes.values())) {
            var progress = node.progress;
            lines.add(new FleetStatus.OfNode(
                    node.id().name(),
                    word(node),
                    node.attempt,
                    node.pieces,
                    progress == null ? 0 : progress.wouldTrash(),
                    progress == null ? 0 : progress.trashed(),
                    node.detail));
        }
        return new FleetStatus(
                owner(),
                ticket.cycle(),
                phase,
                rows,
                rowsExpected,
                marker == null ? List.of() : marker.workers(),
                lines,
                lines.size(),
                alarms);
    }

    SweepManager.Config config() {
        return config;
    }

    CycleLog.Ticket ticket() {
        return ticket;
    }

    SortedMap<NodeId, NodeRun> nodes() {
        return nodes;
    }

    OwnerId owner() {
        return ticket.owner();
    }

    Time time() {
        return config.time();
    }

    Pause pause() {
        return config.pause();
    }

    long nanos() {
        return config.time().nanoTime();
    }

    private long random() {
        return config.random().getAsLong();
    }
}
