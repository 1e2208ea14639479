package io.holdfast.sweep.manager;

import com.dynatrace.hash4j.hashing.Hashing;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.FingerprintScan;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.Tally;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * One cycle over a fleet, from the snapshot to the last filter that was delivered. What follows, on the nodes alone, is
 * {@link NodeRounds}.
 *
 * <pre>
 *   open the snapshot, count                                  one view for everything below
 *   while nodes are pending, and attempts are left:
 *       give them to the workers that answer                  ranges of node ids, balanced by counts
 *       scan those nodes, send                                numbered, windowed, tallied
 *       end the sessions, compare                             count, last number, 128-bit sum, digests
 *       draw witnesses, sign, deliver                         only what agrees
 *   close the snapshot
 * </pre>
 */
final class FleetCycle {

    private final SweepManager.Config config;
    private final CycleLog.Ticket ticket;
    private final TreeMap<NodeId, NodeRun> nodes = new TreeMap<>();
    private final Map<String, Duration> took = new HashMap<>();
    private final List<Attempt> attempts = new ArrayList<>();
    private final long seed;
    private final Tally.Keys keys;
    private final long witnessKey;
    private volatile String phase = "count";
    private volatile long rows;
    private volatile long rowsExpected;
    private volatile @Nullable Attempt current;
    private Instant cutoff = Instant.EPOCH;
    private String incarnation = "";
    private volatile long renewedNanos;

    FleetCycle(SweepManager.Config config, CycleLog.Ticket ticket) {
        this.config = config;
        this.ticket = ticket;
        this.seed = config.random().getAsLong();
        this.keys = new Tally.Keys(config.random().getAsLong(), config.random().getAsLong());
        this.witnessKey = config.random().getAsLong();
        this.renewedNanos = config.time().nanoTime();
    }

    /** Runs it to the end, as far as nodes and workers let it. */
    CycleReport run(List<SweepManager.Seen> fit, Map<NodeId, String> unfit, ScanThreads callers) throws Exception {
        try (ScanThreads threads = config.threads().get()) {
            NodeRounds rounds = new NodeRounds(this, callers);
            try (Catalogue.Snapshot snapshot = config.catalogue().open()) {
                incarnation = snapshot.incarnation();
                plan(snapshot, threads, fit);
                settleAlarms(snapshot, fit);
                build(snapshot, threads, callers, rounds);
            }
            long built = time().nanoTime();
            phase = "examine";
            rounds.awaitExamined();
            lap("examine", built);
            long examined = time().nanoTime();
            phase = "trash";
            String note = rounds.release();
            rounds.awaitDone();
            lap("trash", examined);
            phase = "done";
            return report(unfit, note);
        } finally {
            attempts.forEach(Attempt::drop);
        }
    }

    private void lap(String part, long from) {
        took.merge(part, Duration.ofNanos(time().nanoTime() - from), Duration::plus);
    }

    private void plan(Catalogue.Snapshot snapshot, ScanThreads threads, List<SweepManager.Seen> fit) throws Exception {
        long began = time().nanoTime();
        Map<NodeId, Long> counts = FingerprintScan.counts(snapshot, threads, done -> {
            rows = done;
            renewIfDue();
        });
        counted = counts;
        rowsExpected = counts.values().stream().mapToLong(Long::longValue).sum();
        for (SweepManager.Seen seen : fit) {
            NodeId id = seen.port().id();
            long pieces = counts.getOrDefault(id, 0L);
            nodes.put(
                    id,
                    new NodeRun(
                            seen.port(),
                            seen.progress().idBytes(),
                            seen.progress().lastCycle(),
                            pieces,
                            FilterGeometry.forRate(pieces, config.rate()),
                            new WitnessSample(Hashing.xxh3_64(witnessKey)),
                            time().nanoTime()));
        }
        lap("count", began);
    }

    private Map<NodeId, Long> counted = Map.of();

    /** A trashed piece was read somewhere. If the catalogue knows it, a live piece was trashed: everything stops. */
    private void settleAlarms(Catalogue.Snapshot snapshot, List<SweepManager.Seen> fit) throws Exception {
        for (SweepManager.Seen seen : fit) {
            for (var alarm : seen.progress().alarms()) {
                if (snapshot.contains(seen.port().id(), alarm.id().bytes())) {
                    String what = "cycle " + alarm.cycle() + " trashed " + alarm.id() + " on node "
                            + seen.port().id() + ", and the catalogue knows it";
                    config.log().raise(owner(), true, what);
                    throw new HoldfastException(
                            Category.CORRUPT,
                            what,
                            "the piece is back; restore cycle " + alarm.cycle()
                                    + " on every node, find the cause, then end the alarm",
                            null);
                }
                config.orders().endAlarm(seen.port(), owner(), alarm);
            }
        }
    }

    private void build(Catalogue.Snapshot snapshot, ScanThreads threads, ScanThreads callers, NodeRounds rounds)
            throws Exception {
        for (int number = 1; number <= config.attempts(); number++) {
            SortedMap<NodeId, NodeRun> pending = pending();
            if (pending.isEmpty()) {
                return;
            }
            List<WorkerPort> workers = healthy(callers);
            if (workers.size() < builders()) {
                String why = workers.size() + " workers answer and " + builders() + " are needed";
                pending.values().forEach(node -> node.fail(node.detail.isEmpty() ? why : node.detail + "; " + why));
                return;
            }
            phase = number == 1 ? "scan" : "scan, attempt " + number;
            Attempt attempt = new Attempt(this, new SessionKey(ticket.cycle(), ticket.token(), number));
            attempts.add(attempt);
            current = attempt;
            long began = time().nanoTime();
            attempt.start(workers, pending, callers);
            scan(snapshot, threads, attempt, number == 1 ? null : new TreeSet<>(pending.keySet()));
            lap("scan", began);
            phase = "compare";
            long scanned = time().nanoTime();
            attempt.end(callers);
            lap("compare", scanned);
            snapshot.check();
            phase = "deliver";
            long compared = time().nanoTime();
            rounds.deliver();
            lap("deliver", compared);
        }
        pending().values().forEach(node -> node.fail(node.detail + "; no attempt is left"));
    }

    private SortedMap<NodeId, NodeRun> pending() {
        TreeMap<NodeId, NodeRun> pending = new TreeMap<>(nodes);
        pending.values().removeIf(node -> node.state != NodeRun.State.PENDING);
        return pending;
    }

    private List<WorkerPort> healthy(ScanThreads callers) throws Exception {
        renewIfDue();
        List<WorkerPort> all = config.workers().get();
        List<Boolean> answers = callers.all(all.stream()
                .map(worker -> (Callable<Boolean>) () -> answers(worker))
                .toList());
        List<WorkerPort> healthy = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            if (answers.get(i)) {
                healthy.add(all.get(i));
            }
        }
        return healthy;
    }

    private boolean answers(WorkerPort worker) {
        try {
            worker.ping();
            return true;
        } catch (HoldfastException e) {
            config.note("worker " + worker.address() + " takes no part: " + e.getMessage());
            return false;
        }
    }

    private void scan(Catalogue.Snapshot snapshot, ScanThreads threads, Attempt attempt, @Nullable Set<NodeId> only)
            throws Exception {
        FingerprintScan.Seen seen = new FingerprintScan(
                        snapshot,
                        attempt.targets(),
                        config.parts()
                                .gathering(
                                        config.bufferMemory() / 2,
                                        attempt.targets().size()),
                        threads,
                        List.of(),
                        done -> {
                            rows = done;
                            renewIfDue();
                        })
                .run(only);
        seen.compare(counted, only);
        if (only == null) {
            Instant newest =
                    seen.newestMillis() == Long.MIN_VALUE ? Instant.EPOCH : Instant.ofEpochMilli(seen.newestMillis());
            cutoff = newest.isBefore(snapshot.takenAt()) ? newest : snapshot.takenAt();
        }
    }

    /** Repeats a call that may be repeated, until the worker has been silent for too long. */
    <T> T persist(Outbox outbox, Callable<T> call) throws InterruptedException {
        long began = time().nanoTime();
        while (true) {
            try {
                return call.call();
            } catch (HoldfastException e) {
                if (e.category() != Category.RETRY
                        || time().nanoTime() - began > workerPatience().toNanos()) {
                    throw e;
                }
            } catch (InterruptedException e) {
                throw e;
            } catch (Exception e) {
                throw new HoldfastException(Category.RETRY, "a call to a worker failed: " + e, e);
            }
            synchronized (outbox) {
                pause().await(outbox, Duration.ofMillis(200));
            }
        }
    }

    /** Keeps the right to this cycle. Throws LAPSED if it is lost, which ends the cycle wherever it is. */
    void renewIfDue() {
        if (isRenewalDue()) {
            synchronized (this) {
                if (isRenewalDue()) {
                    renew();
                }
            }
        }
    }

    private boolean isRenewalDue() {
        return time().nanoTime() - renewedNanos > config.lease().toNanos() / 3;
    }

    synchronized void renew() {
        try {
            config.log().renew(ticket, config.lease());
            renewedNanos = time().nanoTime();
        } catch (IOException e) {
            throw new HoldfastException(Category.RETRY, "the log of cycles cannot be written: " + e, e);
        }
    }

    void alarm(String text) throws IOException {
        config.note("alarm: " + text);
        config.log().raise(owner(), false, text);
    }

    private CycleReport report(Map<NodeId, String> unfit, String note) {
        List<CycleReport.OfNode> all = new ArrayList<>();
        nodes.values()
                .forEach(node -> all.add(new CycleReport.OfNode(
                        node.id(),
                        word(node),
                        node.attempt,
                        node.pieces,
                        java.util.Optional.ofNullable(node.progress),
                        node.detail)));
        unfit.forEach(
                (node, why) -> all.add(new CycleReport.OfNode(node, "failed", 0, 0, java.util.Optional.empty(), why)));
        long marked = nodes.values().stream().mapToLong(node -> node.pieces).sum();
        return new CycleReport(owner(), ticket.cycle(), cutoff, marked, attempts.size(), all, note, took);
    }

    private static String word(NodeRun node) {
        return node.state.name().toLowerCase(java.util.Locale.ROOT);
    }

    FleetStatus status(List<String> alarms) {
        List<FleetStatus.OfWorker> workers = new ArrayList<>();
        Attempt attempt = current;
        if (attempt != null) {
            attempt.shares()
                    .forEach((outbox, share) -> workers.add(new FleetStatus.OfWorker(
                            outbox.worker().address(),
                            outbox.givenUp().isEmpty() ? "at work" : "lost: " + outbox.givenUp(),
                            share.nodes().getFirst().name(),
                            share.nodes().getLast().name(),
                            share.nodes().size(),
                            share.pieces(),
                            outbox.piecesSent(),
                            outbox.piecesAcknowledged())));
        }
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
                owner(), ticket.cycle(), phase, rows, rowsExpected, workers, lines, lines.size(), alarms);
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

    Instant cutoff() {
        return cutoff;
    }

    String incarnation() {
        return incarnation;
    }

    OwnerId owner() {
        return ticket.owner();
    }

    long seed() {
        return seed;
    }

    Tally.Keys keys() {
        return keys;
    }

    Parts parts() {
        return config.parts();
    }

    int builders() {
        return config.builders();
    }

    /** Half of the buffer memory is for what is under way, half for what is being gathered. */
    long windowMemory() {
        return config.bufferMemory() / 2;
    }

    Duration workerPatience() {
        return config.workerPatience();
    }

    Time time() {
        return config.time();
    }

    Pause pause() {
        return (monitor, atMost) -> {
            config.pause().await(monitor, atMost);
            renewIfDue();
        };
    }
}
