package io.holdfast.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Setting;
import io.holdfast.Settings;
import io.holdfast.Time;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.ScanObserver;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.cycle.Counted;
import io.holdfast.sweep.cycle.Marked;
import io.holdfast.sweep.cycle.Marker;
import io.holdfast.sweep.cycle.TrashJudge;
import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.node.EmptyPermit;
import io.holdfast.sweep.node.NodeReport;
import io.holdfast.sweep.node.NodeStatus;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.node.Suspect;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.Built;
import io.holdfast.sweep.retain.Manifest;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/**
 * A whole cycle in one process: reads the catalogue, builds a filter for each node, lets each node say what it would
 * trash, and, when told so, lets them trash it.
 *
 * <pre>{@code
 * SweepPlan plan = Sweep.of(JdbcCatalogue.of(dataSource, query)).nodes(nodes).plan();
 * SweepReport report = plan.trash();
 * }</pre>
 *
 * <h2>What it promises</h2>
 *
 * A live piece is not trashed. The arguments, from the catalogue to the disk:
 *
 * <ol>
 *   <li>All live ids come from one frozen snapshot, and an incomplete scan yields no filter at all ({@link Mark}).
 *   <li>A filter answers to every id that was added to it.
 *   <li>What the snapshot cannot know is newer than the cutoff, the smaller of the catalogue's clock before the snapshot
 *       and the newest creation time in it; each node spares that, and a window before it.
 *   <li>What is wrong with all of this at once (another form of ids, another catalogue, a name of a node mixed up)
 *       shows as too few hits, as another incarnation, or as an amount that the brakes do not let pass.
 *   <li>What passes even that is in the trash for days, and is deleted for good only when a later cycle's filter misses it
 *       too; one that the later cycle knows is brought back.
 * </ol>
 */
public final class Sweep {

    private static final System.Logger LOG = System.getLogger(Sweep.class.getName());
    private static final SecureRandom RANDOM = new SecureRandom();

    private final Catalogue catalogue;
    private final TreeMap<NodeId, StorageNode> nodes = new TreeMap<>();
    private final List<ScanObserver> observers = new ArrayList<>();
    private Settings settings = Settings.none();
    private Instant vouched = Instant.EPOCH;
    private Time time = Time.system();
    private SweepProgress progress = SweepProgress.NONE;
    private LongSupplier seeds = RANDOM::nextLong;

    private Sweep(Catalogue catalogue) {
        this.catalogue = catalogue;
    }

    public static Sweep of(Catalogue catalogue) {
        return new Sweep(catalogue);
    }

    /** The nodes to sweep. They stay the caller's, who closes them. */
    public Sweep nodes(Collection<StorageNode> some) {
        for (StorageNode node : some) {
            if (nodes.put(node.id(), node) != null) {
                throw HoldfastException.misuse("node " + node.id() + " is named twice", "name each node once");
            }
        }
        return this;
    }

    public Sweep settings(Settings values) {
        settings = values;
        return this;
    }

    public <T> Sweep set(Setting<T> setting, T value) {
        settings.set(setting, value);
        return this;
    }

    public Sweep time(Time source) {
        time = source;
        return this;
    }

    /**
     * The catalogue is whole up to then, though its newest row may be older: it is idle, and no replica that lags. Without
     * this nothing that came after its newest row is judged.
     */
    public Sweep vouched(Instant upTo) {
        vouched = upTo;
        return this;
    }

    /** Rides on the scan of the catalogue. */
    public Sweep observe(ScanObserver observer) {
        observers.add(observer);
        return this;
    }

    public Sweep progress(SweepProgress listener) {
        progress = listener;
        return this;
    }

    /** Where the seed of each cycle comes from; default a secure random source. */
    Sweep seeds(LongSupplier source) {
        seeds = source;
        return this;
    }

    /** Reads the catalogue and lets every node examine its pieces. Nothing is moved. */
    public SweepPlan plan() {
        if (nodes.isEmpty()) {
            throw HoldfastException.misuse("a sweep without nodes", "name at least one storage node");
        }
        try (ScanThreads threads = ScanThreads.of(scanners())) {
            Map<String, Duration> took = new HashMap<>();
            long began = time.nanoTime();
            Map<NodeId, String> unfit = unfit();
            List<StorageNode> fit = nodes.values().stream()
                    .filter(node -> !unfit.containsKey(node.id()))
                    .toList();
            try (Catalogue.Snapshot snapshot = catalogue.open()) {
                Mark mark = new Mark(
                        catalogue.owner(),
                        vouched,
                        seeds.getAsLong(),
                        settings.get(SweepSettings.FILTER_MEMORY),
                        settings.get(SweepSettings.BUFFER_MEMORY),
                        threads,
                        observers,
                        progress);
                Counted counted = counted(snapshot, threads);
                Marker.Outcome marked = mark.mark(counted, wishes(fit, counted), 1);
                took.put("scan", Duration.ofNanos(time.nanoTime() - began));
                SweepReport report = examine(counted, mark, marked, fit, unfit, threads, took);
                List<String> alarms = judgeTrash(snapshot, fit, report);
                return new SweepPlan(this, with(report, String.join("; ", alarms), took));
            }
        } catch (HoldfastException e) {
            throw e;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new HoldfastException(Category.RETRY, "the cycle was interrupted; nothing was trashed", e);
        } catch (Exception e) {
            throw new HoldfastException(
                    Category.RETRY,
                    "the cycle was aborted: " + e,
                    "nothing was trashed; mend the catalogue and plan again",
                    e);
        }
    }

    private Counted counted(Catalogue.Snapshot snapshot, ScanThreads threads) throws Exception {
        try {
            return Counted.of(
                    snapshot,
                    threads,
                    done -> progress.progress(
                            SweepProgress.Phase.COUNT, catalogue.owner().name(), done, 0));
        } catch (Exception | Error e) {
            observers.forEach(observer -> observer.aborted(e));
            throw e;
        }
    }

    private SortedMap<NodeId, Marker.Wish> wishes(List<StorageNode> fit, Counted counted) {
        double rate = Double.parseDouble(settings.get(SweepSettings.FALSE_POSITIVES));
        SortedMap<NodeId, Marker.Wish> wishes = new TreeMap<>();
        for (StorageNode node : fit) {
            long pieces = counted.of(node.id());
            FilterGeometry geometry = FilterGeometry.forRate(pieces, rate);
            wishes.put(
                    node.id(),
                    new Marker.Wish(node.id(), node.idBytes(), pieces, geometry, Built.BY_SOMEBODY, Set.of()));
        }
        return wishes;
    }

    /** Nodes whose books cannot be read take no part; they trash nothing until somebody has seen to them. */
    private Map<NodeId, String> unfit() {
        Map<NodeId, String> why = new TreeMap<>();
        for (StorageNode node : nodes.values()) {
            try {
                node.lastCycle(catalogue.owner());
            } catch (IOException | HoldfastException e) {
                why.put(node.id(), "" + e.getMessage());
            }
        }
        return why;
    }

    /** Asks the catalogue about pieces that were read in the trash, or are in the trash and in the new filter. */
    private List<String> judgeTrash(Catalogue.Snapshot snapshot, Collection<StorageNode> fit, SweepReport report)
            throws Exception {
        List<Accused> accused = new ArrayList<>();
        for (StorageNode node : fit) {
            List<Suspect> suspects = report.nodes().stream()
                    .filter(told -> told.node().equals(node.id()))
                    .flatMap(told -> told.suspects().stream())
                    .toList();
            accused.add(new Accused(catalogue.owner(), node, node.alarms(catalogue.owner()), suspects));
        }
        List<String> alarms = TrashJudge.judge(snapshot, seeds.getAsLong(), accused).values().stream()
                .flatMap(List::stream)
                .map(finding -> "alarm: " + finding)
                .collect(Collectors.toCollection(ArrayList::new));
        alarms.forEach(alarm -> LOG.log(Level.WARNING, alarm));
        return alarms;
    }

    private record Accused(OwnerId owner, StorageNode on, List<NodeStatus.Alarm> alarms, List<Suspect> suspects)
            implements TrashJudge.Accused {

        @Override
        public NodeId node() {
            return on.id();
        }

        @Override
        public List<Suspect> read() {
            return alarms.stream().map(NodeStatus.Alarm::piece).toList();
        }

        @Override
        public void settle(Suspect read) throws IOException {
            on.endAlarm(new NodeStatus.Alarm(owner, read.cycle(), read.id(), Instant.EPOCH));
        }

        @Override
        public boolean rescue(Suspect suspect) throws IOException {
            return on.rescue(owner, suspect);
        }
    }

    private SweepReport examine(
            Counted counted,
            Mark mark,
            Marker.Outcome marked,
            List<StorageNode> fit,
            Map<NodeId, String> unfit,
            ScanThreads threads,
            Map<String, Duration> took)
            throws Exception {
        long began = time.nanoTime();
        long cycle = 1;
        for (StorageNode node : fit) {
            cycle = Math.max(cycle, node.lastCycle(catalogue.owner()) + 1);
        }
        long number = cycle;
        Instant issuedAt = time.instant();
        String incarnation = counted.snapshot().incarnation();
        long rows = fit.stream().mapToLong(node -> counted.of(node.id())).sum();
        SweepReport empty = new SweepReport(
                catalogue.owner(), number, mark.cutoff(), rows, counted.inAll() - rows, List.of(), unfit, "", took);
        SweepReport report = onEach(empty, fit, threads, SweepProgress.Phase.EXAMINE, (node, walked) -> {
            LiveFilter filter = mark.filter(node.id());
            Marked mine = marked.filters().get(node.id());
            if (mine == null) {
                throw new IllegalStateException("no filter was made for " + node.id());
            }
            Manifest manifest =
                    mine.manifest(catalogue.owner(), node.id(), number, issuedAt, mark.cutoff(), incarnation, "");
            return node.examine(manifest, filter, walked);
        });
        took.put("examine", Duration.ofNanos(time.nanoTime() - began));
        return with(report, report.note(), took);
    }

    /** What one node does in a phase. */
    @FunctionalInterface
    interface OnNode {
        NodeReport apply(StorageNode node, StorageNode.Progress walked) throws Exception;
    }

    /** Does something on several nodes side by side; a node that fails is reported and does not stop the others. */
    SweepReport onEach(
            SweepReport base,
            Collection<StorageNode> some,
            ScanThreads threads,
            SweepProgress.Phase phase,
            OnNode action)
            throws Exception {
        Map<NodeId, String> failures = new ConcurrentSkipListMap<>(base.failures());
        Map<NodeId, NodeReport> reports = new ConcurrentSkipListMap<>();
        List<Callable<Boolean>> tasks = new ArrayList<>();
        for (StorageNode node : some) {
            tasks.add(() -> {
                try {
                    reports.put(
                            node.id(),
                            action.apply(
                                    node,
                                    (examined, done, folders) ->
                                            progress.progress(phase, node.id().name(), done, folders)));
                    return true;
                } catch (Exception e) {
                    failures.put(node.id(), e instanceof HoldfastException ? "" + e.getMessage() : e.toString());
                    return false;
                }
            });
        }
        threads.all(tasks);
        return new SweepReport(
                base.owner(),
                base.cycle(),
                base.cutoff(),
                base.rows(),
                base.rowsElsewhere(),
                List.copyOf(reports.values()),
                failures,
                base.note(),
                base.took());
    }

    static SweepReport with(SweepReport report, String note, Map<String, Duration> took) {
        return new SweepReport(
                report.owner(),
                report.cycle(),
                report.cutoff(),
                report.rows(),
                report.rowsElsewhere(),
                report.nodes(),
                report.failures(),
                note,
                took);
    }

    /**
     * What emptying did.
     *
     * @param failures nodes whose trash could not be emptied, and why; the others were
     */
    public record Emptied(long removed, Map<NodeId, String> failures) {
        public Emptied {
            failures = Map.copyOf(failures);
        }
    }

    /** Deletes for good what two cycles agree on, on all nodes. A node that fails keeps no other from it. */
    public Emptied empty() {
        long removed = 0;
        Map<NodeId, String> failures = new TreeMap<>();
        for (StorageNode node : nodes.values()) {
            try {
                removed += node.empty(new EmptyPermit(node.id(), catalogue.owner(), time.instant()))
                        .removed();
            } catch (IOException | HoldfastException e) {
                failures.put(node.id(), "" + e.getMessage());
                LOG.log(Level.WARNING, "node {0} was not emptied: {1}", node.id(), e.getMessage());
            }
        }
        return new Emptied(removed, failures);
    }

    StorageNode node(NodeId id) {
        StorageNode node = nodes.get(id);
        if (node == null) {
            throw HoldfastException.misuse("node " + id + " is not part of this sweep", "name it");
        }
        return node;
    }

    int scanners() {
        int given = settings.get(SweepSettings.SCANNERS);
        return given == 0 ? Runtime.getRuntime().availableProcessors() : given;
    }

    int fleetLimitPercent() {
        return settings.get(SweepSettings.FLEET_LIMIT);
    }

    Time time() {
        return time;
    }
}
