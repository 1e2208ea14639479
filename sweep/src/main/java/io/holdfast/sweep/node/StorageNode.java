package io.holdfast.sweep.node;

import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Ledger;
import io.holdfast.Reclaimed;
import io.holdfast.ThingId;
import io.holdfast.Time;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.node.OwnerBooks.TrashHit;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.Manifest;
import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A storage node: keeps pieces, and lets a cycle move garbage to the trash.
 *
 * <h2>What it promises</h2>
 *
 * A live piece is never trashed by a filter that is complete, and a filter that is not complete is refused wherever that
 * can be seen from here. The node trusts nobody's arithmetic: it enforces the spare window itself, it counts hits
 * itself, and it has a brake of its own.
 *
 * <h2>The life of a cycle here</h2>
 *
 * <pre>{@code
 *   examine(manifest, filter)     check the manifest; walk all pieces, count, change nothing; store filter and verdict
 *        |
 *        v
 *   READY, or an operator approves (first cycle, other catalogue, empty filter, brake)
 *        |
 *        v
 *   trash(cycle)                  book it, mark it released, walk again and rename      <- a restart goes on here
 *        |
 *        +--> restore(cycle)      void it durably, then rename everything back
 *        v
 *   trash is kept 7 days, by the clock and by the time that the node was seen running
 *        |
 *        v
 *   empty(permit)                 the only place where bytes of a piece are deleted by a cycle
 * }</pre>
 *
 * <h2>How it stays true</h2>
 *
 * <ul>
 *   <li>Each piece changes place by one rename, inside the lock of its id, in which its age is read again.
 *   <li>What the node will do is written down before it is done: the number that the brake counts, the release, the
 *       voiding. A crash can make the books say more than happened, never less.
 *   <li>The second walk trashes no more than the first one counted.
 *   <li>A read that finds its piece in the trash brings it back and leaves an alarm, which stops all emptying of that
 *       owner until the catalogue was asked.
 * </ul>
 */
public final class StorageNode implements AutoCloseable {

    private static final System.Logger LOG = System.getLogger(StorageNode.class.getName());

    /** Told how far a walk is: folders done of folders in all. */
    @FunctionalInterface
    public interface Progress {
        void walked(long examined, int foldersDone, int folders);

        Progress NONE = (examined, done, folders) -> {};
    }

    /** What restoring a cycle did. */
    public record Restored(long restored, long keptLive) {}

    private final NodeId id;
    private final Path state;
    private final PieceStore store;
    private final NodeBuilder.Config config;
    private final Ledger ledger;
    private final FileLock fileLock;
    private final StateFiles files;
    private final NodeStep.Watch watch;
    private final Time time;
    private final HolderId by;
    private final ReentrantLock retaining = new ReentrantLock();
    private final Map<OwnerId, OwnerBooks> books = new HashMap<>();
    private final Map<OwnerId, ConcurrentSkipListMap<Long, LongAdder>> deletes = new ConcurrentHashMap<>();
    /** Cycles that are being restored now: a walk that trashes for one of them stops at the next piece. */
    private final Set<Long> voiding = ConcurrentHashMap.newKeySet();

    StorageNode(
            NodeId id,
            Path state,
            PieceStore store,
            NodeBuilder.Config config,
            Ledger ledger,
            FileLock fileLock,
            StateFiles files,
            Time time) {
        this.id = id;
        this.state = state;
        this.store = store;
        this.config = config;
        this.ledger = ledger;
        this.fileLock = fileLock;
        this.files = files;
        this.watch = files.watch();
        this.time = time;
        this.by = HolderId.newIncarnation(id.name());
    }

    /** A node whose pieces lie under a folder, which is made if it is not there. */
    public static NodeBuilder at(Path root, String name) {
        return new NodeBuilder(root, new NodeId(name));
    }

    public NodeId id() {
        return id;
    }

    public int idBytes() {
        return store.idBytes();
    }

    public PieceStore.Put put(OwnerId owner, PieceId piece, InputStream bytes) throws IOException {
        return store.put(owner, piece, bytes);
    }

    /** Reads a piece. One that a cycle trashed comes back, and an alarm is left behind. */
    public Optional<InputStream> get(OwnerId owner, PieceId piece) throws IOException {
        Optional<InputStream> found = store.get(owner, piece);
        if (found.isPresent()) {
            return found;
        }
        Optional<Long> cycle = store.look(owner, piece).flatMap(PieceStore.Facts::trashedBy);
        if (cycle.isPresent()) {
            noteHit(owner, piece, cycle.get());
            store.restore(owner, piece, cycle.get());
        }
        return store.get(owner, piece);
    }

    private void noteHit(OwnerId owner, PieceId piece, long cycle) throws IOException {
        LOG.log(
                Level.WARNING,
                "node {0}: {1} was read though cycle {2} had trashed it; it is restored",
                id,
                piece,
                cycle);
        OwnerBooks mine = books(owner);
        synchronized (mine) {
            if (mine.hits.size() < OwnerBooks.ALARMS_MAX) {
                mine.hits.add(new TrashHit(cycle, piece, time.instant()));
                mine.write();
            }
        }
    }

    /** Removes a piece because its owner said so. */
    public boolean delete(OwnerId owner, PieceId piece) throws IOException {
        boolean deleted = store.delete(owner, piece);
        if (deleted) {
            long minute = TimeUnit.SECONDS.toMinutes(time.instant().getEpochSecond());
            deletes.computeIfAbsent(owner, o -> new ConcurrentSkipListMap<>())
                    .computeIfAbsent(minute, m -> new LongAdder())
                    .increment();
        }
        return deleted;
    }

    public SortedSet<OwnerId> owners() throws IOException {
        return store.owners();
    }

    /** Hands over the ids of all live pieces of an owner. */
    public void list(OwnerId owner, PieceStore.Visitor visitor) throws IOException {
        for (int folder = 0; folder < store.folders(); folder++) {
            store.list(owner, folder, visitor);
        }
    }

    /** The highest cycle that this node took of the owner. */
    public long lastCycle(OwnerId owner) throws IOException {
        return books(owner).lastCycle;
    }

    /** Accepts that so many live pieces are lost here, so that cycles are not refused for it. */
    public void knownLosses(OwnerId owner, long pieces) throws IOException {
        if (pieces < 0) {
            throw HoldfastException.misuse(pieces + " known losses", "give 0 or more");
        }
        OwnerBooks mine = books(owner);
        synchronized (mine) {
            mine.knownLosses = pieces;
            mine.write();
        }
    }

    /** Walks all pieces of the owner and says what the cycle would trash. Changes no piece. */
    public NodeReport examine(Manifest manifest, LiveFilter filter, Progress progress) throws IOException {
        retaining.lock();
        try {
            OwnerBooks mine = books(manifest.owner());
            Instant now = time.instant();
            Refusal.check(manifest, filter, id, mine.lastCycle, now, config);
            Instant limit = (manifest.cutoff().isBefore(now) ? manifest.cutoff() : now).minus(config.spareWindow());
            RetainWalk walk =
                    RetainWalk.examine(store, manifest, filter, limit, time, config.walkLimit(), () -> false, by);
            run(walk, progress);
            synchronized (mine) {
                mine.look(now);
                long missing = manifest.distinctLeast() - walk.live() - mine.knownLosses - deletesSince(manifest);
                Verdict verdict = verdict(manifest, filter, mine, walk, missing);
                mine.lastCycle = manifest.cycle();
                if (!mine.examinedBefore) {
                    mine.examinedBefore = true;
                    mine.incarnation = manifest.incarnation();
                }
                mine.write();
                RetainFile retain = new RetainFile(
                        manifest,
                        filter,
                        verdict,
                        limit,
                        walk.examined(),
                        walk.garbage(),
                        walk.garbageBytes(),
                        false,
                        false);
                retain.write(state, files);
                watch.reached(NodeStep.TRASH_PLANNED);
                return report(retain, walk, false, Refusal.detail(verdict, walk.garbage(), missing, config));
            }
        } finally {
            retaining.unlock();
        }
    }

    private Verdict verdict(Manifest manifest, LiveFilter filter, OwnerBooks mine, RetainWalk walk, long missing) {
        if (missing > 0) {
            return Verdict.TOO_FEW_HITS;
        }
        if (filter.isEmpty()) {
            return Verdict.EMPTY_FILTER;
        }
        if (!mine.examinedBefore) {
            return Verdict.FIRST_CYCLE;
        }
        if (!mine.incarnation.equals(manifest.incarnation())) {
            return Verdict.OTHER_CATALOGUE;
        }
        long allowed = mine.highWater(walk.examined()) * config.brakePercent() / 100;
        return mine.trashedInWindow() + walk.garbage() > allowed ? Verdict.BRAKED : Verdict.READY;
    }

    /** Pieces that the owner deleted after the snapshot are in the filter and, rightly, not here. */
    private long deletesSince(Manifest manifest) {
        long minute = TimeUnit.SECONDS.toMinutes(
                manifest.cutoff().minus(config.clockSkew()).getEpochSecond());
        return deletes.getOrDefault(manifest.owner(), new ConcurrentSkipListMap<>()).tailMap(minute).values().stream()
                .mapToLong(LongAdder::sum)
                .sum();
    }

    /**
     * Trashes what the examination of this cycle found, if the verdict allows it or an operator does. Otherwise nothing
     * is trashed and the report says why.
     */
    public NodeReport trash(OwnerId owner, long cycle, Optional<Approval> approval, Progress progress)
            throws IOException {
        retaining.lock();
        try {
            RetainFile retain = stored(owner)
                    .filter(stored -> stored.manifest().cycle() == cycle)
                    .orElseThrow(() -> HoldfastException.misuse(
                            "node " + id + " has not examined cycle " + cycle + " of " + owner,
                            "plan again: only the newest plan can be carried out"));
            boolean approved = retain.verdict().approvable()
                    && approval.filter(given -> given.covers(id, retain)).isPresent();
            if (retain.verdict() != Verdict.READY && !approved) {
                return refused(retain, approval.isPresent());
            }
            return carryOut(retain.released() ? retain : release(retain, approved), progress);
        } finally {
            retaining.unlock();
        }
    }

    private NodeReport refused(RetainFile retain, boolean wrongApproval) {
        String why = wrongApproval && retain.verdict().approvable()
                ? "the approval names another node, cycle, filter or number; nothing was trashed"
                : "nothing was trashed: "
                        + retain.verdict().name().toLowerCase(Locale.ROOT).replace('_', '-');
        return new NodeReport(
                id,
                retain.manifest().owner(),
                retain.manifest().cycle(),
                retain.digestText(),
                retain.verdict(),
                retain.examined(),
                Map.of(),
                retain.wouldTrash(),
                retain.wouldTrashBytes(),
                0,
                0,
                0,
                why);
    }

    private RetainFile release(RetainFile retain, boolean approved) throws IOException {
        Manifest manifest = retain.manifest();
        OwnerBooks mine = books(manifest.owner());
        synchronized (mine) {
            Instant now = time.instant();
            mine.look(now);
            mine.note(new OwnerBooks.Past(manifest.cycle(), now, retain.examined(), retain.wouldTrash(), approved));
            mine.trash.put(manifest.cycle(), new OwnerBooks.InTrash(now, Duration.ZERO));
            if (approved) {
                mine.incarnation = manifest.incarnation();
            }
            mine.write();
        }
        RetainFile released = retain.release(approved);
        released.write(state, files);
        return released;
    }

    private NodeReport carryOut(RetainFile retain, Progress progress) throws IOException {
        OwnerId owner = retain.manifest().owner();
        long cycle = retain.manifest().cycle();
        watch.reached(NodeStep.TRASH_BEGUN);
        RetainWalk walk =
                RetainWalk.trash(store, retain, time, config.walkLimit(), () -> voiding.contains(cycle), ledger, by);
        run(walk, progress);
        if (ledger instanceof FileLedger file) {
            file.flush();
        }
        if (walk.wasVoided() || walk.failure() != null) {
            String why = walk.wasVoided() ? "stopped: the cycle was restored" : "stopped: " + walk.failure();
            return report(retain, walk, true, why);
        }
        OwnerBooks mine = books(owner);
        synchronized (mine) {
            mine.look(time.instant());
            mine.trash.put(cycle, new OwnerBooks.InTrash(time.instant(), Duration.ZERO));
            mine.write();
        }
        files.remove(RetainFile.path(state, owner));
        watch.reached(NodeStep.TRASH_DONE);
        return report(retain, walk, true, walk.failed() == 0 ? "done" : walk.failed() + " pieces could not be moved");
    }

    /** Goes on with cycles that were released and not finished when the node stopped. */
    public List<NodeReport> resume(Progress progress) throws IOException {
        List<NodeReport> reports = new ArrayList<>();
        retaining.lock();
        try {
            for (OwnerId owner : store.owners()) {
                Optional<RetainFile> retain = stored(owner);
                if (retain.isPresent() && retain.get().released()) {
                    reports.add(carryOut(retain.get(), progress));
                }
            }
        } finally {
            retaining.unlock();
        }
        return reports;
    }

    /** The stored cycle; one that cannot be trusted is dropped here and now. */
    private Optional<RetainFile> stored(OwnerId owner) throws IOException {
        try {
            Optional<RetainFile> retain = RetainFile.read(state, owner, config.filterBytesMax());
            boolean voided = retain.isPresent()
                    && isVoided(owner, retain.get().manifest().cycle());
            return voided ? Optional.empty() : retain;
        } catch (HoldfastException e) {
            LOG.log(Level.ERROR, "node {0}: {1}", id, e.getMessage());
            files.remove(RetainFile.path(state, owner));
            throw e;
        }
    }

    private boolean isVoided(OwnerId owner, long cycle) throws IOException {
        OwnerBooks mine = books(owner);
        synchronized (mine) {
            return mine.voided.contains(cycle);
        }
    }

    private void run(RetainWalk walk, Progress progress) throws IOException {
        while (!walk.isDone()) {
            Duration pause = walk.step().next();
            progress.walked(walk.examined(), walk.folder(), store.folders());
            if (!pause.isZero()) {
                try {
                    TimeUnit.NANOSECONDS.sleep(pause.toNanos());
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new HoldfastException(Category.RETRY, "the walk of node " + id + " was interrupted", e);
                }
            }
        }
    }

    private NodeReport report(RetainFile retain, RetainWalk walk, boolean trashed, String detail) {
        return new NodeReport(
                id,
                retain.manifest().owner(),
                retain.manifest().cycle(),
                retain.digestText(),
                retain.verdict(),
                walk.examined(),
                walk.spared(),
                retain.wouldTrash(),
                retain.wouldTrashBytes(),
                trashed ? walk.garbage() : 0,
                trashed ? walk.garbageBytes() : 0,
                walk.failed(),
                detail);
    }

    /** Undoes a cycle: voids it for good, then brings back everything that it trashed and that has no live twin. */
    public Restored restore(OwnerId owner, long cycle) throws IOException {
        voiding.add(cycle);
        retaining.lock();
        try {
            OwnerBooks mine = books(owner);
            synchronized (mine) {
                mine.voided.add(cycle);
                mine.write();
            }
            watch.reached(NodeStep.RESTORE_VOIDED);
            long[] counts = new long[2];
            for (int folder = 0; folder < store.folders(); folder++) {
                for (PieceId piece : trashOf(owner, cycle, folder)) {
                    counts[store.restore(owner, piece, cycle) ? 0 : 1]++;
                }
            }
            watch.reached(NodeStep.RESTORE_DONE);
            return new Restored(counts[0], counts[1]);
        } finally {
            voiding.remove(cycle);
            retaining.unlock();
        }
    }

    private List<PieceId> trashOf(OwnerId owner, long cycle, int folder) throws IOException {
        List<PieceId> pieces = new ArrayList<>();
        store.listTrash(owner, cycle, folder, new PieceStore.Visitor() {
            @Override
            public void piece(byte[] piece) {
                pieces.add(PieceId.wrap(piece));
            }

            @Override
            public void unknown(String name) {
                // Not ours: it stays where it is.
            }
        });
        return pieces;
    }

    /** Deletes for good what has been in the trash long enough; answers how many pieces. */
    public long empty(EmptyPermit permit) throws IOException {
        Instant now = time.instant();
        if (!permit.isValid(id, now)) {
            throw HoldfastException.misuse(
                    "the permit to empty is for " + permit.node() + " at " + permit.issuedAt(),
                    "ask for a permit for node " + id + ", and use it within an hour");
        }
        retaining.lock();
        try {
            return new TrashEmptier(store, books(permit.owner()), config.trashKeep(), watch).empty(permit.owner(), now);
        } finally {
            retaining.unlock();
        }
    }

    /** Pieces of the owner that were read though they were in the trash, and that nobody has looked into yet. */
    public List<NodeStatus.Alarm> alarms(OwnerId owner) throws IOException {
        OwnerBooks mine = books(owner);
        synchronized (mine) {
            return mine.hits.stream()
                    .map(hit -> new NodeStatus.Alarm(owner, hit.cycle(), hit.id(), hit.at()))
                    .toList();
        }
    }

    /** Ends an alarm, after the catalogue or an operator said that the piece was rightly trashed. */
    public void endAlarm(NodeStatus.Alarm alarm) throws IOException {
        OwnerBooks mine = books(alarm.owner());
        synchronized (mine) {
            mine.hits.removeIf(hit -> hit.cycle() == alarm.cycle() && hit.id().equals(alarm.id()));
            mine.write();
        }
    }

    public NodeStatus status() throws IOException {
        List<NodeStatus.OfOwner> owners = new ArrayList<>();
        for (OwnerId owner : store.owners()) {
            Optional<NodeStatus.UnderWay> underWay = underWay(owner);
            OwnerBooks mine = books(owner);
            synchronized (mine) {
                List<NodeStatus.TrashOfCycle> trash = new ArrayList<>();
                mine.trash.forEach((cycle, entry) -> trash.add(new NodeStatus.TrashOfCycle(
                        cycle, entry.since(), entry.since().plus(config.trashKeep()), mine.voided.contains(cycle))));
                owners.add(new NodeStatus.OfOwner(owner, mine.lastCycle, underWay, trash, alarms(owner)));
            }
        }
        return new NodeStatus(id, owners);
    }

    /** The cycle that was examined and is not finished. */
    Optional<NodeStatus.UnderWay> underWay(OwnerId owner) throws IOException {
        return stored(owner)
                .map(retain -> new NodeStatus.UnderWay(
                        retain.manifest().cycle(),
                        retain.digestText(),
                        retain.verdict(),
                        retain.examined(),
                        retain.wouldTrash(),
                        retain.wouldTrashBytes(),
                        retain.released()));
    }

    /** What the books still know of a cycle that was carried out. */
    Optional<OwnerBooks.Past> past(OwnerId owner, long cycle) throws IOException {
        OwnerBooks mine = books(owner);
        synchronized (mine) {
            return mine.past(cycle);
        }
    }

    /** Where what is not yet checked may lie. */
    Path state() {
        return state;
    }

    NodeBuilder.Config config() {
        return config;
    }

    /** Until when a piece of the given age is spared though no catalogue knows it. */
    public Instant sparedUntil(Instant age) {
        return age.plus(config.spareWindow());
    }

    /** What is known of a piece: where it is, and whether a cycle trashed it. */
    public PieceFate why(PieceId piece) throws IOException {
        Optional<Reclaimed> record = ledger.find(new ThingId(ThingId.Kind.PIECE, id.name(), piece.toString()));
        for (OwnerId owner : store.owners()) {
            Optional<PieceStore.Facts> facts = store.look(owner, piece);
            if (facts.isPresent()) {
                return new PieceFate(Optional.of(owner), facts, record);
            }
        }
        return new PieceFate(Optional.empty(), Optional.empty(), record);
    }

    private OwnerBooks books(OwnerId owner) throws IOException {
        synchronized (books) {
            OwnerBooks mine = books.get(owner);
            if (mine == null) {
                mine = OwnerBooks.open(state, owner, files);
                books.put(owner, mine);
            }
            return mine;
        }
    }

    @Override
    public void close() throws IOException {
        store.close();
        if (ledger instanceof FileLedger file) {
            file.close();
        }
        fileLock.acquiredBy().close();
    }
}
