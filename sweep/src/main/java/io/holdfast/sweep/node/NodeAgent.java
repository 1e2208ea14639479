package io.holdfast.sweep.node;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.sweep.filter.FilterFormat;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.Manifest;
import io.holdfast.sweep.retain.Order;
import io.holdfast.sweep.retain.Signed;
import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * A storage node that takes its cycles from afar. It believes nothing but signatures: a manifest of a manager's key
 * begins a cycle, an order of the right key goes on with it. Walks run on an executor, one at a time, and the caller
 * asks how far they are.
 *
 * <p>Everything may arrive twice, late, or never. A manifest of a cycle that is known is nothing new if it is the same,
 * and refused if it is another; an order names cycle, filter and number, so it fits one state of one cycle, once. After
 * a restart, a cycle that was released is finished before anything else; one that was only examined waits on; one that
 * was being examined is forgotten and must be sent again.
 */
public final class NodeAgent {

    private static final System.Logger LOG = System.getLogger(NodeAgent.class.getName());

    private final StorageNode node;
    private final KeyRing ring;
    private final Executor walks;
    private final Time time;
    private final Map<OwnerId, Current> current = new HashMap<>();

    /** The latest cycle of an owner, as far as this process has worked on it. */
    private static final class Current {
        private final long cycle;
        private final String digest;
        private volatile NodeProgress.State state;
        private volatile @Nullable NodeReport report;
        private volatile String failure = "";
        private volatile long examined;

        Current(long cycle, String digest, NodeProgress.State state) {
            this.cycle = cycle;
            this.digest = digest;
            this.state = state;
        }
    }

    public NodeAgent(StorageNode node, KeyRing ring, Executor walks, Time time) {
        this.node = node;
        this.ring = ring;
        this.walks = walks;
        this.time = time;
    }

    /** Takes what has been left by a process that was killed in the middle of receiving. */
    public void clean() throws IOException {
        Incoming.clean(node.state());
    }

    public StorageNode node() {
        return node;
    }

    /** Finishes what had been released when the node stopped. */
    public void resume() {
        walks.execute(() -> {
            try {
                for (NodeReport report : node.resume(StorageNode.Progress.NONE)) {
                    synchronized (current) {
                        Current mine = new Current(report.cycle(), report.digest(), NodeProgress.State.DONE);
                        mine.report = report;
                        current.put(report.owner(), mine);
                    }
                }
            } catch (IOException | RuntimeException e) {
                LOG.log(Level.ERROR, "node " + node.id() + " could not go on with its cycle", e);
            }
        });
    }

    /** A filter that arrives in parts: into a file, so that it takes no memory before it is whole. */
    public Incoming incoming(Signed signed) throws IOException {
        Manifest manifest = verified(signed);
        try {
            Refusal.check(manifest, node.id(), lastBefore(manifest), time.instant(), node.config());
        } catch (HoldfastException e) {
            throw refused(manifest, e);
        }
        long most = node.config().filterBytesMax() + FilterFormat.OVERHEAD_BYTES;
        return new Incoming(node.state(), most, "a filter", "sweep.node.filter-max");
    }

    /** A filter that is sent again for the cycle under way is nothing new, and no mistake. */
    private long lastBefore(Manifest manifest) throws IOException {
        long last = node.lastCycle(manifest.owner());
        synchronized (current) {
            Current known = current.get(manifest.owner());
            boolean again = known != null && known.cycle == manifest.cycle() && known.digest.equals(manifest.digest());
            return again ? manifest.cycle() - 1 : last;
        }
    }

    private Manifest verified(Signed signed) {
        Manifest manifest = Manifest.decode(signed.text());
        ring.verify(signed, manifest.keyId(), KeyRing.Role.MANAGER, time.instant());
        return manifest;
    }

    /** Takes a signed manifest and its filter, checks both, and begins to examine. */
    public void retain(Signed signed, InputStream filterBytes) throws IOException {
        Manifest manifest = verified(signed);
        try {
            begin(manifest, filterBytes);
        } catch (HoldfastException e) {
            throw refused(manifest, e);
        }
    }

    /** The manager may ask what became of its cycle: it need not believe the worker that delivered. */
    private HoldfastException refused(Manifest manifest, HoldfastException why) {
        if (why.category() == Category.RETRY) {
            return why;
        }
        synchronized (current) {
            Current known = current.get(manifest.owner());
            boolean isNews = known == null
                    || (!isWalking(known)
                            && (known.cycle < manifest.cycle() || known.state == NodeProgress.State.FAILED));
            if (isNews) {
                Current mine = new Current(manifest.cycle(), manifest.digest(), NodeProgress.State.FAILED);
                mine.failure = "" + why.getMessage();
                current.put(manifest.owner(), mine);
            }
        }
        return why;
    }

    private void begin(Manifest manifest, InputStream filterBytes) throws IOException {
        Instant now = time.instant();
        LiveFilter filter = FilterFormat.read(filterBytes, node.config().filterBytesMax());
        synchronized (current) {
            Current known = current.get(manifest.owner());
            if (known != null && known.cycle == manifest.cycle() && known.state != NodeProgress.State.FAILED) {
                if (known.digest.equals(manifest.digest())) {
                    return;
                }
                throw HoldfastException.misuse(
                        "node " + node.id() + " has another filter of cycle " + manifest.cycle(), "issue a new cycle");
            }
            if (known != null && isWalking(known)) {
                throw new HoldfastException(
                        Category.RETRY,
                        "node " + node.id() + " is at cycle " + known.cycle,
                        "send it again later",
                        null);
            }
            Refusal.check(manifest, filter, node.id(), node.lastCycle(manifest.owner()), now, node.config());
            Current mine = new Current(manifest.cycle(), manifest.digest(), NodeProgress.State.EXAMINING);
            current.put(manifest.owner(), mine);
            walks.execute(() -> work(mine, () -> {
                mine.report = node.examine(manifest, filter, (examined, done, folders) -> mine.examined = examined);
                mine.state = NodeProgress.State.EXAMINED;
            }));
        }
    }

    private static boolean isWalking(Current current) {
        return current.state == NodeProgress.State.EXAMINING || current.state == NodeProgress.State.TRASHING;
    }

    /** What a walk does. */
    private interface Walk {
        void run() throws IOException;
    }

    private void work(Current mine, Walk walk) {
        try {
            walk.run();
        } catch (IOException | RuntimeException e) {
            mine.failure = e instanceof HoldfastException ? "" + e.getMessage() : e.toString();
            mine.state = NodeProgress.State.FAILED;
            LOG.log(Level.WARNING, "node {0}, cycle {1}: {2}", node.id(), mine.cycle, mine.failure);
        }
    }

    /** Does what a signed order says; answers a number that fits it, and a line for people. */
    public Carried carry(Signed signed) throws IOException {
        Order order = Order.decode(signed.text());
        Instant now = time.instant();
        ring.verify(signed, order.keyId(), order.kind().role(), now);
        order.check(node.id(), now, node.config().clockSkew());
        return switch (order.kind()) {
            case RELEASE -> trash(order, Optional.empty());
            case APPROVE ->
                trash(
                        order,
                        Optional.of(new Approval(
                                order.detail(), order.node(), order.cycle(), order.digest(), order.count())));
            case RESTORE -> {
                StorageNode.Restored restored = node.restore(order.owner(), order.cycle());
                yield new Carried(restored.restored(), restored.keptLive() + " had a live twin and stay in the trash");
            }
            case EMPTY -> {
                StorageNode.Emptied done = node.empty(new EmptyPermit(node.id(), order.owner(), order.issuedAt()));
                yield new Carried(
                        done.removed(),
                        done.unconfirmed() == 0
                                ? ""
                                : "the trash of " + done.unconfirmed()
                                        + " cycles waits for a filter that another worker has built");
            }
            case END_ALARM -> {
                PieceId piece = PieceId.parse(order.detail(), node.idBytes());
                node.endAlarm(new NodeStatus.Alarm(order.owner(), order.cycle(), piece, now));
                yield new Carried(1, "the alarm is ended");
            }
            case LOSSES -> {
                node.knownLosses(order.owner(), order.count());
                yield new Carried(order.count(), "accepted as lost");
            }
            case SAME_CATALOGUE -> {
                node.sameCatalogue(order.owner(), order.cycle());
                yield new Carried(1, "the next cycle goes on by itself");
            }
            case VOUCH ->
                throw HoldfastException.misuse("a node was given an order for managers", "give it to a manager");
            case RESCUE -> {
                PieceId piece = PieceId.parse(order.detail(), node.idBytes());
                boolean back = node.rescue(order.owner(), new Suspect(order.cycle(), piece));
                yield new Carried(back ? 1 : 0, back ? "the piece is back" : "it is not in the trash");
            }
        };
    }

    /** What came of an order. */
    public record Carried(long count, String detail) {}

    private Carried trash(Order order, Optional<Approval> approval) throws IOException {
        synchronized (current) {
            Current known = current.get(order.owner());
            if (known != null && known.cycle == order.cycle() && isPast(known.state)) {
                return new Carried(0, "it is at it, or done");
            }
            NodeStatus.UnderWay underWay = node.underWay(order.owner())
                    .filter(waiting -> waiting.cycle() == order.cycle()
                            && waiting.digest().equals(order.digest())
                            && waiting.wouldTrash() == order.count())
                    .orElseThrow(() -> new HoldfastException(
                            Category.GONE,
                            "node " + node.id() + " has no plan of cycle " + order.cycle()
                                    + " with this filter and number",
                            "ask the node what it has examined",
                            null));
            boolean allowed = underWay.verdict() == Verdict.READY
                    || (approval.isPresent() && underWay.verdict().approvable());
            if (!allowed) {
                throw HoldfastException.misuse(
                        "node " + node.id() + " says " + underWay.verdict(),
                        approval.isPresent() ? "no approval helps; see docs/sweep.md" : "an operator must approve");
            }
            Current mine = new Current(order.cycle(), order.digest(), NodeProgress.State.TRASHING);
            current.put(order.owner(), mine);
            walks.execute(() -> work(mine, () -> {
                mine.report = node.trash(
                        order.owner(), order.cycle(), approval, (examined, done, folders) -> mine.examined = examined);
                mine.state = NodeProgress.State.DONE;
            }));
            return new Carried(order.count(), "trashing");
        }
    }

    private static boolean isPast(NodeProgress.State state) {
        return state == NodeProgress.State.TRASHING || state == NodeProgress.State.DONE;
    }

    /** How the node stands with a cycle; cycle 0 asks about the node alone. */
    public NodeProgress progress(OwnerId owner, long cycle) throws IOException {
        List<NodeStatus.Alarm> alarms = node.alarms(owner);
        long last = node.lastCycle(owner);
        Current known;
        synchronized (current) {
            known = current.get(owner);
        }
        if (known != null && known.cycle == cycle) {
            NodeReport report = known.report;
            return report == null
                    ? bare(last, known.state, known.examined, known.digest, known.failure, alarms, "")
                    : of(report, last, known.state, known.failure, alarms);
        }
        Optional<NodeStatus.UnderWay> waiting = node.underWay(owner).filter(underWay -> underWay.cycle() == cycle);
        if (waiting.isPresent()) {
            return of(waiting.get(), last, alarms);
        }
        Optional<NodeReport> past = node.past(owner, cycle).map(entry -> report(owner, entry));
        String builder = node.trashBuilder(owner);
        return past.map(report -> of(report, last, NodeProgress.State.DONE, "", alarms))
                .orElseGet(() -> bare(last, NodeProgress.State.UNKNOWN, 0, "", "", alarms, builder));
    }

    private NodeReport report(OwnerId owner, OwnerBooks.Past past) {
        return new NodeReport(
                node.id(),
                owner,
                past.cycle(),
                "",
                Verdict.READY,
                past.pieces(),
                Map.of(),
                past.trashed(),
                0,
                past.trashed(),
                0,
                0,
                List.of(),
                "done before the node was restarted");
    }

    private NodeProgress bare(
            long last,
            NodeProgress.State state,
            long examined,
            String digest,
            String detail,
            List<NodeStatus.Alarm> alarms,
            String trashBuilder) {
        return new NodeProgress(
                node.id(),
                node.idBytes(),
                last,
                state,
                examined,
                digest,
                "",
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                detail,
                alarms,
                trashBuilder,
                List.of());
    }

    private NodeProgress of(NodeStatus.UnderWay waiting, long last, List<NodeStatus.Alarm> alarms) {
        return new NodeProgress(
                node.id(),
                node.idBytes(),
                last,
                waiting.released() ? NodeProgress.State.TRASHING : NodeProgress.State.EXAMINED,
                waiting.examined(),
                waiting.digest(),
                waiting.verdict().name(),
                waiting.wouldTrash(),
                waiting.wouldTrashBytes(),
                0,
                0,
                0,
                0,
                0,
                "",
                alarms,
                "",
                List.of());
    }

    private NodeProgress of(
            NodeReport report, long last, NodeProgress.State state, String failure, List<NodeStatus.Alarm> alarms) {
        return new NodeProgress(
                node.id(),
                node.idBytes(),
                last,
                state,
                report.examined(),
                report.digest(),
                report.verdict().name(),
                report.wouldTrash(),
                report.wouldTrashBytes(),
                report.trashed(),
                report.trashedBytes(),
                report.spared(SpareReason.LIVE),
                report.spared(SpareReason.YOUNG) + report.spared(SpareReason.RENEWED),
                report.failed(),
                failure.isEmpty() ? report.detail() : failure,
                alarms,
                "",
                report.suspects());
    }
}
