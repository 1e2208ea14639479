package io.holdfast.sweep.manager;

import io.holdfast.HoldfastException;
import io.holdfast.Time;
import io.holdfast.sweep.catalogue.FingerprintScan;
import io.holdfast.sweep.catalogue.ScanObserver;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.cycle.Counted;
import io.holdfast.sweep.cycle.Cutoff;
import io.holdfast.sweep.cycle.Heard;
import io.holdfast.sweep.cycle.LeaseDuty;
import io.holdfast.sweep.cycle.Marked;
import io.holdfast.sweep.cycle.Marker;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.Built;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.Tally;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Workers build the filters. Each attempt gives the nodes to the workers that answer, scans, and compares what they have with
 * what was sent ({@link Attempt}). A worker that fails, at whatever, gets nothing more in the cycle: it may have failed on
 * purpose, to learn something.
 */
final class WorkerMarker implements Marker {

    private static final int DRAWS = 16;

    /** Told how far it is. */
    interface Watch {
        void phase(String phase);

        void rows(long done);

        /** A part has taken the time since then. */
        void lap(String part, long fromNanos);

        void alarm(String about, String text) throws IOException;
    }

    private final SweepManager.Config config;
    private final CycleLog.Ticket ticket;
    private final LeaseDuty lease;
    private final ScanThreads threads;
    private final ScanThreads callers;
    private final Watch watch;
    private final long seed;
    private final Tally.Keys keys;
    private final List<Attempt> attempts = new ArrayList<>();
    /** Workers that get nothing more in this cycle, by identity, and why. */
    private final Map<String, String> dismissed = new ConcurrentHashMap<>();
    /** Who sits behind an address. */
    private final Map<String, String> seats = new ConcurrentHashMap<>();

    private final Map<String, Built> built = new ConcurrentHashMap<>();
    private final Map<String, Set<String>> differing = new TreeMap<>();
    private volatile int atHand;
    private volatile @Nullable Attempt current;
    private Instant cutoff = Instant.EPOCH;

    WorkerMarker(
            SweepManager.Config config,
            CycleLog.Ticket ticket,
            LeaseDuty lease,
            ScanThreads threads,
            ScanThreads callers,
            Watch watch) {
        this.config = config;
        this.ticket = ticket;
        this.lease = lease;
        this.threads = threads;
        this.callers = callers;
        this.watch = watch;
        this.seed = config.random().getAsLong();
        this.keys = new Tally.Keys(config.random().getAsLong(), config.random().getAsLong());
    }

    @Override
    public Outcome mark(Counted catalogue, SortedMap<NodeId, Wish> wishes, int number) throws Exception {
        List<WorkerPort> workers = healthy();
        dismissTheOddOne(workers);
        atHand = workers.size();
        if (workers.size() < builders()) {
            String why = workers.size() + " workers answer and " + builders() + " are needed";
            Map<NodeId, String> hopeless = new TreeMap<>();
            wishes.keySet().forEach(node -> hopeless.put(node, why));
            return new Outcome(Map.of(), Map.of(), hopeless);
        }
        watch.phase(number == 1 ? "scan" : "scan, attempt " + number);
        Attempt attempt = new Attempt(this, new SessionKey(owner(), ticket.cycle(), ticket.token(), number));
        attempts.add(attempt);
        current = attempt;
        long began = nanos();
        attempt.start(drawn(workers, wishes), wishes, callers);
        if (number == 1) {
            observed(catalogue, attempt);
        } else {
            scan(catalogue, attempt, new TreeSet<>(wishes.keySet()), List.of());
        }
        watch.lap("scan", began);
        watch.phase("compare");
        long scanned = nanos();
        Outcome outcome = attempt.end(callers);
        catalogue.snapshot().check();
        watch.lap("compare", scanned);
        return outcome;
    }

    @Override
    public Instant cutoff() {
        return cutoff;
    }

    @Override
    public int buildersAtHand() {
        return atHand;
    }

    /** Those that answer, one of each identity, without those that failed in this cycle. */
    private List<WorkerPort> healthy() throws Exception {
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

    /** Who sits behind an address: what it proved, or with one builder the address itself. */
    private String seat(WorkerPort worker, WorkerPort.Pong pong) {
        return pong.identity().isEmpty() && builders() == 1 ? "address " + worker.address() : pong.identity();
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
    private List<WorkerPort> drawn(List<WorkerPort> workers, SortedMap<NodeId, Wish> wishes) {
        List<WorkerPort> best = workers;
        long fewest = Long.MAX_VALUE;
        for (int draw = 0; draw < DRAWS && fewest > 0; draw++) {
            List<WorkerPort> order = new ArrayList<>(workers);
            for (int i = order.size() - 1; i > 0; i--) {
                Collections.swap(order, i, (int) Long.remainderUnsigned(random(), i + 1L));
            }
            long again = again(order, wishes);
            if (again < fewest) {
                fewest = again;
                best = order;
            }
        }
        return best;
    }

    private long again(List<WorkerPort> order, SortedMap<NodeId, Wish> wishes) {
        long again = 0;
        TreeMap<NodeId, Long> counts = new TreeMap<>();
        wishes.forEach((id, wish) -> counts.put(id, wish.pieces()));
        for (Assignment.Share share : Assignment.of(counts, order.size(), builders())) {
            Built builder = builders() > 1 ? Built.AGREED : builtBy(List.of(order.get(share.worker())));
            for (NodeId id : share.nodes()) {
                Wish wish = wishes.get(id);
                if (wish != null) {
                    again += builder.isIndependentOf(wish.trash()) ? 0 : 1;
                    again += wish.refused().contains(identity(order.get(share.worker()))) ? 1 : 0;
                }
            }
        }
        return again;
    }

    /** The scan of everything, which observers ride on. */
    private void observed(Counted catalogue, Attempt attempt) throws Exception {
        try {
            scan(catalogue, attempt, null, config.observers());
            catalogue.snapshot().check();
            config.observers().forEach(ScanObserver::complete);
        } catch (Exception | Error e) {
            config.observers().forEach(observer -> observer.aborted(e));
            throw e;
        }
    }

    private void scan(Counted catalogue, Attempt attempt, @Nullable Set<NodeId> only, List<ScanObserver> observers)
            throws Exception {
        FingerprintScan.Seen seen = new FingerprintScan(
                        catalogue.snapshot(),
                        attempt.targets(),
                        config.parts()
                                .gathering(
                                        config.bufferMemory() / 2,
                                        attempt.targets().size()),
                        threads,
                        observers,
                        done -> {
                            watch.rows(done);
                            requireHeld();
                        })
                .run(only);
        seen.compare(catalogue.rows(), only);
        if (only == null) {
            cutoff = Cutoff.of(catalogue.snapshot().takenAt(), seen.newestMillis(), config.vouched());
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

    /** A worker that has the filter of a session. */
    record Holder(WorkerMarker marker, WorkerPort worker, SessionKey session) implements Marked.Courier {

        @Override
        public String name() {
            return "worker " + worker.address();
        }

        @Override
        public String identity() {
            return marker.identity(worker);
        }

        @Override
        public Heard<Optional<HoldfastException>> deliver(NodeId node, String address, Signed manifest)
                throws InterruptedException {
            return marker.persist(worker, () -> worker.deliver(session, node, address, manifest));
        }

        @Override
        public void dismiss(String why) {
            marker.dismiss(worker, why);
        }
    }

    /** Each worker of the attempt under way. */
    List<FleetStatus.OfWorker> workers() {
        Attempt attempt = current;
        List<FleetStatus.OfWorker> workers = new ArrayList<>();
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
        return workers;
    }

    private String identity(WorkerPort worker) {
        return seats.getOrDefault(worker.address(), worker.address());
    }

    private void requireHeld() {
        lease.requireHeld();
    }

    void alarm(String about, String text) throws IOException {
        watch.alarm(about, text);
    }

    private OwnerId owner() {
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

    private long nanos() {
        return config.time().nanoTime();
    }

    long random() {
        return config.random().getAsLong();
    }

    /** The cycle is over: the workers forget what they have built. */
    void drop() throws InterruptedException {
        for (Attempt attempt : attempts) {
            attempt.drop();
        }
    }
}
