package io.holdfast.sweep.manager;

import io.holdfast.Time;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.FingerprintScan;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.cycle.Cutoff;
import io.holdfast.sweep.cycle.Heard;
import io.holdfast.sweep.cycle.LeaseDuty;
import io.holdfast.sweep.cycle.TrashJudge;
import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.node.NodeStatus;
import io.holdfast.sweep.node.Suspect;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.Built;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.Tally;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * One cycle over a fleet. What concerns the nodes alone is {@link NodeRounds}.
 *
 * <pre>
 *   open the snapshot, count                                  one view for everything below
 *   while nodes are pending, and attempts are left:
 *       give them to the workers that answer                  ranges of node ids, balanced by counts
 *       scan those nodes, send                                numbered, windowed, tallied
 *       end the sessions, compare                             count, last number, 128-bit sum, digests
 *       draw witnesses, sign, deliver                         only what agrees
 *   await what the nodes found                                in the trash first, then among the live
 *   ask the snapshot about suspects in the trash              known: brought back, with an alarm
 *   close the snapshot
 *   release, await what the nodes trashed
 * </pre>
 */
final class FleetCycle {

    private static final int DRAWS = 16;

    private final SweepManager.Config config;
    private final CycleLog.Ticket ticket;
    private final TreeMap<NodeId, NodeRun> nodes = new TreeMap<>();
    private final Map<String, Duration> took = new HashMap<>();
    private final List<Attempt> attempts = new ArrayList<>();
    private final long seed;
    private final Tally.Keys keys;
    private final LeaseDuty lease;
    /** Workers that get nothing more in this cycle, by identity, and why. */
    private final Map<String, String> dismissed = new ConcurrentHashMap<>();

    private volatile String phase = "count";
    private volatile long rows;
    private volatile long rowsExpected;
    private volatile @Nullable Attempt current;
    private Instant cutoff = Instant.EPOCH;
    private String incarnation = "";

    FleetCycle(SweepManager.Config config, CycleLog.Ticket ticket, LeaseDuty lease) {
        this.config = config;
        this.ticket = ticket;
        this.seed = config.random().getAsLong();
        this.keys = new Tally.Keys(config.random().getAsLong(), config.random().getAsLong());
        this.lease = lease;
    }

    /** Runs it to the end, as far as nodes and workers let it. */
    CycleReport run(List<SweepManager.Seen> fit, Map<NodeId, String> unfit, ScanThreads callers) throws Exception {
        try (ScanThreads threads = config.threads().get()) {
            NodeRounds rounds = new NodeRounds(this, callers);
            try (Catalogue.Snapshot snapshot = config.catalogue().open()) {
                incarnation = snapshot.incarnation();
                plan(snapshot, threads, fit);
                build(snapshot, threads, callers, rounds);
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
        } finally {
            for (Attempt attempt : attempts) {
                attempt.drop();
            }
        }
    }

    private void lap(String part, long from) {
        took.merge(part, Duration.ofNanos(nanos() - from), Duration::plus);
    }

    private void plan(Catalogue.Snapshot snapshot, ScanThreads threads, List<SweepManager.Seen> fit) throws Exception {
        long began = nanos();
        Map<NodeId, Long> counts = FingerprintScan.counts(snapshot, threads, done -> {
            rows = done;
            requireHeld();
        });
        requireHeld();
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
                            pieces,
                            FilterGeometry.forRate(pieces, config.rate()),
                            new Built(seen.progress().trashBuilder()),
                            nanos()));
        }
        lap("count", began);
    }

    private Map<NodeId, Long> counted = Map.of();

    /** Asks the snapshot about pieces that were read in the trash, or are in the trash and in the new filter. */
    private void judgeTrash(Catalogue.Snapshot snapshot, List<SweepManager.Seen> fit) throws Exception {
        requireHeld();
        TrashJudge judge = new TrashJudge();
        for (SweepManager.Seen seen : fit) {
            judge.ask(
                    seen.port().id(),
                    seen.progress().alarms().stream().map(NodeStatus.Alarm::id).toList());
        }
        for (NodeRun node : nodes.values()) {
            judge.ask(node.id(), suspects(node).stream().map(Suspect::id).toList());
        }
        judge.answer(snapshot, random());
        for (SweepManager.Seen seen : fit) {
            settleAlarms(judge, seen);
        }
        for (NodeRun node : nodes.values()) {
            requireHeld();
            tell(
                    node.id(),
                    judge.judge(
                            node.id(),
                            suspects(node),
                            suspect -> config.orders().rescue(node.port, owner(), suspect) > 0));
        }
    }

    private static List<Suspect> suspects(NodeRun node) {
        NodeProgress told = node.progress;
        return told != null && node.is(NodeRun.State.EXAMINED) ? told.suspects() : List.of();
    }

    /** Trashed pieces were read. They are back; if the catalogue knows them, a person is told. */
    private void settleAlarms(TrashJudge judge, SweepManager.Seen seen) throws Exception {
        NodePort node = seen.port();
        List<NodeStatus.Alarm> alarms = seen.progress().alarms();
        tell(
                node.id(),
                judge.read(
                        node.id(), alarms.stream().map(NodeStatus.Alarm::piece).toList()));
        for (NodeStatus.Alarm alarm : alarms) {
            requireHeld();
            Heard<Boolean> ended = Heard.of(() -> {
                config.orders().endAlarm(node, owner(), alarm);
                return true;
            });
            if (ended instanceof Heard.Failed<Boolean> failed) {
                config.note("the alarms of node " + node.id() + " stand on: " + failed.why());
                return;
            }
        }
    }

    private void tell(NodeId node, String finding) throws IOException {
        if (!finding.isEmpty()) {
            alarm("node:" + node, "cycle " + ticket.cycle() + ": " + finding);
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
            dismissTheOddOne(workers);
            workersFit = workers.size();
            if (workers.size() < builders()) {
                String why = workers.size() + " workers answer and " + builders() + " are needed";
                pending.values().forEach(node -> node.fail(node.detail.isEmpty() ? why : node.detail + "; " + why));
                return;
            }
            phase = number == 1 ? "scan" : "scan, attempt " + number;
            Attempt attempt = new Attempt(this, new SessionKey(owner(), ticket.cycle(), ticket.token(), number));
            attempts.add(attempt);
            current = attempt;
            long began = nanos();
            attempt.start(drawn(workers, pending), pending, callers);
            scan(snapshot, threads, attempt, number == 1 ? null : new TreeSet<>(pending.keySet()));
            lap("scan", began);
            phase = "compare";
            long scanned = nanos();
            attempt.end(callers);
            lap("compare", scanned);
            snapshot.check();
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

    /** Those that answer, one of each identity, without those that failed in this cycle. */
    private List<WorkerPort> healthy(ScanThreads callers) throws Exception {
        requireHeld();
        List<WorkerPort> all = config.workers().get();
        List<Heard<WorkerPort.Pong>> answers = callers.all(all.stream()
                .map(worker -> (Callable<Heard<WorkerPort.Pong>>) () -> Heard.of(worker::ping))
                .toList());
        Map<String, WorkerPort> healthy = new TreeMap<>();
        for (int i = 0; i < all.size(); i++) {
            WorkerPort worker = all.get(i);
            switch (answers.get(i)) {
                case Heard.Failed<WorkerPort.Pong> failed ->
                    config.note("worker " + worker.address() + " takes no part: " + failed.why());
                case Heard.Said<WorkerPort.Pong> said -> {
                    String identity = seat(worker, said.value());
                    seats.put(worker.address(), identity);
                    built.put(worker.address(), new Built(proof(worker, said.value())));
                    if (identity.isEmpty()) {
                        config.note("worker " + worker.address() + " takes no part: with " + builders()
                                + " builders a worker must prove who it is, by TLS or by a key of its own (--key)");
                    } else if (!dismissed.containsKey(identity)) {
                        healthy.putIfAbsent(identity, worker);
                    }
                }
            }
        }
        return new ArrayList<>(healthy.values());
    }

    private final Map<String, String> seats = new ConcurrentHashMap<>();

    /** Who sits behind an address: what it proved, or with one builder the address itself. */
    private String seat(WorkerPort worker, WorkerPort.Pong pong) {
        return pong.identity().isEmpty() && builders() == 1 ? "address " + worker.address() : pong.identity();
    }

    private final Map<String, Built> built = new ConcurrentHashMap<>();
    /** How many workers the attempt under way could use. */
    private volatile int workersFit;

    String identity(WorkerPort worker) {
        return seats.getOrDefault(worker.address(), worker.address());
    }

    int workersFit() {
        return workersFit;
    }

    /** What tells a worker from others, should it be stolen: what it proved, or else the host that an operator named. */
    private static String proof(WorkerPort worker, WorkerPort.Pong pong) {
        String host = worker.host().isEmpty() ? "" : "host " + worker.host();
        return pong.identity().isEmpty() ? host : pong.identity();
    }

    Built builtBy(List<WorkerPort> builders) {
        return builders.size() > 1 || config.believesOneWorker()
                ? Built.AGREED
                : built.getOrDefault(builders.getFirst().address(), Built.BY_SOMEBODY);
    }

    /** A worker that failed gets nothing more in this cycle: it may have failed on purpose, to learn something. */
    void dismiss(WorkerPort worker, String why) {
        String identity = identity(worker);
        if (dismissed.putIfAbsent(identity, why) == null) {
            config.note("worker " + worker.address() + " gets nothing more in cycle " + ticket.cycle() + ": " + why);
        }
    }

    /** Two workers have different filters of a node. One that differs from more others than anybody else is the odd one. */
    void differ(List<WorkerPort> workers) {
        List<String> identities = workers.stream().map(this::identity).toList();
        for (String identity : identities) {
            Set<String> others = differing.computeIfAbsent(identity, one -> new TreeSet<>());
            others.addAll(identities);
            others.remove(identity);
        }
    }

    private final Map<String, Set<String>> differing = new TreeMap<>();

    private void dismissTheOddOne(List<WorkerPort> healthy) {
        int most = differing.values().stream().mapToInt(Set::size).max().orElse(0);
        List<String> odd = differing.entrySet().stream()
                .filter(one -> one.getValue().size() == most)
                .map(Map.Entry::getKey)
                .toList();
        if (odd.size() == 1) {
            String identity = odd.getFirst();
            healthy.stream()
                    .filter(worker -> identity.equals(seats.get(worker.address())))
                    .forEach(worker -> dismiss(worker, "its filters differ from those of " + most + " others"));
            healthy.removeIf(worker -> identity.equals(seats.get(worker.address())));
        }
    }

    /**
     * Which worker builds for which nodes is drawn anew for each attempt, so that no worker can count on a node. Of several
     * draws that one is taken in which the fewest nodes get the worker whose filter their trash is to be confirmed against, or
     * one that they are said to refuse.
     */
    private List<WorkerPort> drawn(List<WorkerPort> workers, SortedMap<NodeId, NodeRun> pending) {
        List<WorkerPort> best = workers;
        long fewest = Long.MAX_VALUE;
        for (int draw = 0; draw < DRAWS && fewest > 0; draw++) {
            List<WorkerPort> order = new ArrayList<>(workers);
            for (int i = order.size() - 1; i > 0; i--) {
                Collections.swap(order, i, (int) Long.remainderUnsigned(random(), i + 1L));
            }
            long again = again(order, pending);
            if (again < fewest) {
                fewest = again;
                best = order;
            }
        }
        return best;
    }

    private long again(List<WorkerPort> order, SortedMap<NodeId, NodeRun> pending) {
        long again = 0;
        TreeMap<NodeId, Long> counts = new TreeMap<>();
        pending.forEach((id, node) -> counts.put(id, node.pieces));
        for (Assignment.Share share : Assignment.of(counts, order.size(), builders())) {
            Built builder = builders() > 1 ? Built.AGREED : builtBy(List.of(order.get(share.worker())));
            for (NodeId id : share.nodes()) {
                NodeRun node = pending.get(id);
                if (node != null) {
                    again += builder.isIndependentOf(node.trashBuilt) ? 0 : 1;
                    again += node.refused.contains(identity(order.get(share.worker()))) ? 1 : 0;
                }
            }
        }
        return again;
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
                            requireHeld();
                        })
                .run(only);
        seen.compare(counted, only);
        if (only == null) {
            cutoff = Cutoff.of(snapshot.takenAt(), seen.newestMillis());
            if (seen.rowsAfterSnapshot() > 0) {
                config.note(seen.rowsAfterSnapshot() + " rows of the catalogue are dated after its snapshot");
            }
        }
    }

    /** Repeats a call that may be repeated, for as long as a worker may be silent. */
    <T> Heard<T> persist(WorkerPort worker, Callable<T> call) throws InterruptedException {
        long began = nanos();
        while (true) {
            requireHeld();
            Heard<T> answer = Heard.of(call);
            boolean again = answer instanceof Heard.Failed<T> failed
                    && failed.mayPass()
                    && nanos() - began <= workerPatience().toNanos();
            if (!again) {
                return answer;
            }
            Object monitor = new Object();
            synchronized (monitor) {
                pause().await(monitor, Duration.ofMillis(200));
            }
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
                        java.util.Optional.ofNullable(node.progress),
                        node.detail)));
        unfit.forEach(
                (node, why) -> all.add(new CycleReport.OfNode(node, "failed", 0, 0, java.util.Optional.empty(), why)));
        long marked = nodes.values().stream().mapToLong(node -> node.pieces).sum();
        return new CycleReport(owner(), ticket.cycle(), cutoff, marked, attempts.size(), all, note, took);
    }

    private static String word(NodeRun node) {
        return node.state().name().toLowerCase(java.util.Locale.ROOT);
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
        return config.pause();
    }

    long nanos() {
        return config.time().nanoTime();
    }

    long random() {
        return config.random().getAsLong();
    }
}
