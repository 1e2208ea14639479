package io.holdfast.sweep.manager;

import io.holdfast.DutyRunner;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Setting;
import io.holdfast.Settings;
import io.holdfast.Time;
import io.holdfast.sweep.SweepSettings;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.ScanObserver;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.cycle.Heard;
import io.holdfast.sweep.cycle.LeaseDuty;
import io.holdfast.sweep.cycle.Numbering;
import io.holdfast.sweep.node.NodeAgent;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.Order;
import io.holdfast.sweep.retain.SigningKey;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The manager of a fleet: runs cycles over workers and storage nodes that are other processes.
 *
 * <h2>What it promises</h2>
 *
 * A live piece is never trashed, whatever dies, repeats or arrives late; an incomplete cycle trashes nothing.
 *
 * <h2>How it stays true</h2>
 *
 * <ul>
 *   <li>Every scan of a cycle, also one that is repeated for a worker that died, sees one frozen snapshot, and the rows of
 *       each node must be what that snapshot counted. Otherwise the whole cycle ends and no filter leaves.
 *   <li>Each node's pieces are numbered, counted and summed on both sides. A filter is signed only if last number,
 *       count and sum agree ({@link Comparison}), and with two builders only if both have the same bytes.
 *   <li>Everything is keyed by cycle, token and attempt. A worker that comes back, a frame that was delayed, a manager
 *       that slept through its lease find that key superseded, and change nothing.
 *   <li>Nodes act on signatures alone, and only on what is newer than what they have seen. Witnesses are drawn after a
 *       worker has committed itself to its filter's digest.
 *   <li>Nodes first say what they would trash. The manager lets them do it only if the sum is within the fleet's limit.
 * </ul>
 *
 * None of this rests on the lease of the cycle: two managers that both believe to have it do double work, not harm.
 *
 * <h2>Memory</h2>
 *
 * The buffer memory is a setting, half for gathering, half for what is sent and not acknowledged. Beside it, a node takes
 * about 12 KiB, most of it for its witnesses.
 */
public final class SweepManager {

    private static final System.Logger LOG = System.getLogger(SweepManager.class.getName());

    private static final String ABORTED = "aborted";
    private static final Duration AFTER_ABORT = Duration.ofMinutes(10);

    /** How many nodes or workers are asked at the same time: one that does not answer must not hold up the others. */
    static final int CALLERS = 64;

    private static final SecureRandom RANDOM = new SecureRandom();

    /** A node that answered before the cycle. */
    record Seen(NodePort port, NodeProgress progress) {}

    /** What a cycle needs to know, read once. */
    record Config(
            Catalogue catalogue,
            Supplier<List<WorkerPort>> workers,
            CycleLog log,
            Orders orders,
            Parts parts,
            Supplier<ScanThreads> threads,
            Supplier<ScanThreads> callers,
            Pause pause,
            Time time,
            LongSupplier random,
            double rate,
            long bufferMemory,
            int fleetLimitPercent,
            Instant vouched,
            List<ScanObserver> observers,
            int builders,
            boolean believesOneWorker,
            int attempts,
            Duration lease,
            Duration workerPatience,
            Duration nodePatience,
            Duration nodeDeadline) {

        void note(String line) {
            LOG.log(Level.WARNING, line);
        }
    }

    private final Catalogue catalogue;
    private final String holder;
    private final TreeMap<NodeId, NodePort> nodes = new TreeMap<>();
    private Supplier<List<WorkerPort>> workers = List::of;
    private Settings settings = Settings.none();
    private final List<ScanObserver> observers = new ArrayList<>();
    private Instant vouched = Instant.EPOCH;
    private Time time = Time.system();
    private Pause pause = Pause.REAL;
    private Parts parts = new Parts();
    private LongSupplier random = RANDOM::nextLong;
    private @Nullable Supplier<ScanThreads> threads;
    private Supplier<DutyRunner> duties = () -> DutyRunner.start(1);
    private final SigningKey key;
    private final CycleStore store;
    private volatile @Nullable FleetCycle running;

    private SweepManager(Catalogue catalogue, SigningKey key, CycleStore store, String holder) {
        this.catalogue = catalogue;
        this.key = key;
        this.store = store;
        this.holder = holder;
    }

    /**
     * @param key a manager's key, which the nodes' rings have
     * @param store where the cycles are numbered; shared by all managers of this owner
     * @param holder names this process in the log
     */
    public static SweepManager of(Catalogue catalogue, SigningKey key, CycleStore store, String holder) {
        return new SweepManager(catalogue, key, store, holder);
    }

    public SweepManager nodes(Collection<? extends NodePort> some) {
        for (NodePort node : some) {
            if (nodes.put(node.id(), node) != null) {
                throw HoldfastException.misuse("node " + node.id() + " is named twice", "name each node once");
            }
        }
        return this;
    }

    /** Asked before each attempt: the workers of a list, or those that have registered. */
    public SweepManager workers(Supplier<List<WorkerPort>> source) {
        workers = source;
        return this;
    }

    public SweepManager settings(Settings values) {
        settings = values;
        return this;
    }

    public <T> SweepManager set(Setting<T> setting, T value) {
        settings.set(setting, value);
        return this;
    }

    /** Rides on the scan of each cycle; nodes that are scanned again for other workers are not shown again. */
    public SweepManager observe(ScanObserver observer) {
        observers.add(observer);
        return this;
    }

    /** An operator vouches for the catalogue up to then, though its newest row may be older. */
    public SweepManager vouched(Instant upTo) {
        vouched = upTo;
        return this;
    }

    public SweepManager time(Time source) {
        time = source;
        return this;
    }

    /** For tests that step: how to wait, no threads, and where random numbers come from. */
    SweepManager stepped(Pause waiting, LongSupplier numbers, Parts some, Supplier<DutyRunner> runners) {
        pause = waiting;
        duties = runners;
        random = numbers;
        parts = some;
        threads = ScanThreads::ofCaller;
        return this;
    }

    private Config config() {
        int scanners = settings.get(SweepSettings.SCANNERS);
        int count = scanners == 0 ? Runtime.getRuntime().availableProcessors() : scanners;
        Supplier<ScanThreads> own = threads;
        return new Config(
                catalogue,
                workers,
                new CycleLog(store, time),
                new Orders(key, time),
                parts,
                own == null ? () -> ScanThreads.of(count) : own,
                own == null ? () -> ScanThreads.ofCallers(CALLERS) : own,
                pause,
                time,
                random,
                Double.parseDouble(settings.get(SweepSettings.FALSE_POSITIVES)),
                settings.get(SweepSettings.BUFFER_MEMORY),
                settings.get(SweepSettings.FLEET_LIMIT),
                vouched,
                List.copyOf(observers),
                settings.get(ManagerSettings.BUILDERS),
                settings.get(ManagerSettings.BELIEVE_ONE_WORKER),
                settings.get(ManagerSettings.ATTEMPTS),
                settings.get(ManagerSettings.LEASE),
                settings.get(ManagerSettings.WORKER_PATIENCE),
                settings.get(ManagerSettings.NODE_PATIENCE),
                settings.get(ManagerSettings.NODE_DEADLINE));
    }

    /** Runs one cycle to its end. */
    public CycleReport run() {
        if (nodes.isEmpty()) {
            throw HoldfastException.misuse("a sweep without nodes", "name at least one storage node");
        }
        Config config = config();
        try (ScanThreads callers = config.callers().get()) {
            Map<NodeId, String> unfit = new TreeMap<>();
            List<Seen> fit = look(callers, unfit);
            Numbering numbering = Numbering.of(
                    config.log().state(catalogue.owner()).cycle(),
                    fit.stream()
                            .collect(Collectors.toMap(
                                    seen -> seen.port().id(),
                                    seen -> seen.progress().lastCycle())),
                    nodes.size());
            List<Seen> some = subset(without(fit, numbering, unfit));
            CycleLog.Ticket ticket = config.log().begin(catalogue.owner(), holder, numbering.atLeast(), config.lease());
            LeaseDuty lease =
                    new LeaseDuty(() -> config.log().renew(ticket, config.lease()), config.lease(), config.time());
            FleetCycle cycle = new FleetCycle(config, ticket, lease);
            running = cycle;
            String outcome = ABORTED;
            try (DutyRunner renewing = duties.get()) {
                renewing.add(lease);
                CycleReport report = cycle.run(some, unfit, callers);
                outcome = report.trashed() + " trashed of " + report.examined();
                return report;
            } catch (HoldfastException e) {
                outcome = ABORTED + ": " + e.getMessage();
                throw e;
            } finally {
                config.log().end(ticket, outcome);
            }
        } catch (HoldfastException e) {
            throw e;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new HoldfastException(Category.RETRY, "the cycle was interrupted", e);
        } catch (Exception e) {
            throw new HoldfastException(
                    Category.RETRY, "the cycle was aborted: " + e, "mend the catalogue and run it again", e);
        }
    }

    /** Asks the nodes how they stand. One that cannot be reached takes no part; the rest goes on. */
    private List<Seen> look(ScanThreads callers, Map<NodeId, String> unfit) throws Exception {
        Map<NodeId, String> problems = new ConcurrentSkipListMap<>();
        List<Callable<Optional<Seen>>> tasks = new ArrayList<>();
        for (NodePort node : nodes.values()) {
            tasks.add(() -> look(node, problems));
        }
        List<Seen> fit = callers.all(tasks).stream().flatMap(Optional::stream).toList();
        unfit.putAll(problems);
        return fit;
    }

    private Optional<Seen> look(NodePort node, Map<NodeId, String> problems) throws InterruptedException {
        switch (Heard.of(() -> Heard.possible(node.progress(catalogue.owner(), 0)))) {
            case Heard.Said<NodeProgress> said -> {
                if (said.value().node().equals(node.id())) {
                    return Optional.of(new Seen(node, said.value()));
                }
                problems.put(
                        node.id(),
                        "at " + node.address() + " is node " + said.value().node());
            }
            case Heard.Failed<NodeProgress> failed -> problems.put(node.id(), failed.why());
        }
        return Optional.empty();
    }

    private List<Seen> without(List<Seen> fit, Numbering numbering, Map<NodeId, String> unfit) {
        List<Seen> left = new ArrayList<>();
        for (Seen seen : fit) {
            if (numbering.beyond().contains(seen.port().id())) {
                unfit.put(
                        seen.port().id(),
                        "it says that it took cycle " + seen.progress().lastCycle()
                                + ", which was never given out: it lies, or belongs to another fleet");
            } else {
                left.add(seen);
            }
        }
        return left;
    }

    /** Those that have waited longest, if a cycle does not take all. */
    private List<Seen> subset(List<Seen> fit) {
        int most = settings.get(ManagerSettings.NODES_PER_CYCLE);
        if (most == 0 || fit.size() <= most) {
            return fit;
        }
        return fit.stream()
                .sorted(Comparator.comparingLong(seen -> seen.progress().lastCycle()))
                .limit(most)
                .toList();
    }

    /**
     * What emptying did.
     *
     * @param removed pieces that were deleted for good
     * @param kept nodes that keep trash of the right age, and what it waits for
     * @param failures nodes whose trash could not be emptied, and why; the others were
     */
    public record Emptied(long removed, Map<NodeId, String> kept, Map<NodeId, String> failures) {
        public Emptied {
            kept = Map.copyOf(kept);
            failures = Map.copyOf(failures);
        }
    }

    /**
     * Lets each node delete for good what two cycles agree on. A node that fails, or whose trash was read and not yet asked
     * about, keeps no other from it.
     */
    public Emptied empty() {
        Config config = config();
        try (ScanThreads callers = config.callers().get()) {
            return empty(config, callers);
        } catch (RuntimeException e) {
            throw e;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new HoldfastException(Category.RETRY, "emptying was interrupted", e);
        } catch (Exception e) {
            throw new HoldfastException(Category.RETRY, "emptying failed: " + e, e);
        }
    }

    private Emptied empty(Config config, ScanThreads callers) throws Exception {
        OwnerId owner = catalogue.owner();
        Map<NodeId, String> kept = new ConcurrentSkipListMap<>();
        Map<NodeId, String> failures = new ConcurrentSkipListMap<>();
        List<Callable<Long>> tasks = new ArrayList<>();
        for (NodePort node : nodes.values()) {
            tasks.add(() -> {
                Heard<NodeAgent.Carried> done = Heard.of(() ->
                        node.carry(config.orders().order(Order.Kind.EMPTY, owner, node.id(), 0, "", 0, "manager")));
                switch (done) {
                    case Heard.Said<NodeAgent.Carried> said -> {
                        String waits = Heard.text(said.value().detail());
                        if (!waits.isEmpty()) {
                            kept.put(node.id(), waits);
                        }
                        return Math.max(
                                0, Math.min(Heard.COUNT_MAX, said.value().count()));
                    }
                    case Heard.Failed<NodeAgent.Carried> failed -> {
                        failures.put(node.id(), failed.why());
                        config.note("node " + node.id() + " was not emptied: " + failed.why());
                        return 0L;
                    }
                }
            });
        }
        long removed = callers.all(tasks).stream().mapToLong(Long::longValue).sum();
        return new Emptied(removed, kept, failures);
    }

    /** Whether anybody could build filters now. */
    boolean hasWorkers() {
        return !workers.get().isEmpty();
    }

    /**
     * How long until the next cycle is due: an interval after the last one began, whichever manager ran it; sooner after one
     * that was aborted.
     */
    Duration untilDue(Duration interval) throws IOException {
        CycleLog.State state = new CycleLog(store, time).state(catalogue.owner());
        Instant now = time.instant();
        if (state.isHeld(now)) {
            return Duration.between(now, state.until());
        }
        boolean aborted = state.cycle() > 0
                && (state.outcome().isEmpty() || state.outcome().startsWith(ABORTED));
        Duration gap = aborted && AFTER_ABORT.compareTo(interval) < 0 ? AFTER_ABORT : interval;
        Duration left = Duration.between(now, state.beganAt().plus(gap));
        return left.isNegative() ? Duration.ZERO : left;
    }

    /** How the cycle stands that runs, or ran last, in this process. */
    public FleetStatus status() {
        FleetCycle cycle = running;
        List<String> alarms = new ArrayList<>();
        try {
            for (CycleLog.Alarm alarm :
                    new CycleLog(store, time).state(catalogue.owner()).alarms()) {
                alarms.add(alarm.at() + " " + alarm.text());
            }
        } catch (IOException | HoldfastException e) {
            alarms.add("the log of cycles cannot be read: " + e.getMessage());
        }
        return cycle == null
                ? new FleetStatus(catalogue.owner(), 0, "idle", 0, 0, List.of(), List.of(), 0, alarms)
                : cycle.status(alarms);
    }
}
