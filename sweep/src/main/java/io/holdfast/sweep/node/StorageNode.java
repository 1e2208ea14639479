package io.holdfast.sweep.node;

import io.holdfast.HoldfastException;
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
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;

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
 *   trash is kept at least 7 days, and until a later cycle's filter has missed it too
 *        |
 *        v
 *   empty(permit)                 the only place where bytes of a piece are deleted by a cycle ({@link TrashEmptier})
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
 *   <li>A piece is deleted for good only when two cycles agree on it.
 * </ul>
 */
public final class StorageNode implements Pieces, AutoCloseable {

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
    private final Time time;
    private final NodeClock clock;
    private final NodeCycles cycles;
    private final Map<OwnerId, OwnerBooks> books = new HashMap<>();

    StorageNode(
            NodeId id,
            Path state,
            PieceStore store,
            NodeBuilder.Config config,
            Ledger ledger,
            FileLock fileLock,
            StateFiles files,
            NodeClock clock,
            Time time) {
        this.id = id;
        this.state = state;
        this.store = store;
        this.config = config;
        this.ledger = ledger;
        this.fileLock = fileLock;
        this.files = files;
        this.clock = clock;
        this.time = time;
        this.cycles = new NodeCycles(id, state, store, config, ledger, files, clock, time, this::books);
    }

    /** A node whose pieces lie under a folder, which is made if it is not there. */
    public static NodeBuilder at(Path root, String name) {
        return new NodeBuilder(root, new NodeId(name));
    }

    @Override
    public NodeId id() {
        return id;
    }

    @Override
    public int idBytes() {
        return store.idBytes();
    }

    @Override
    public PieceStore.Put put(OwnerId owner, PieceId piece, InputStream bytes) throws IOException {
        return store.put(owner, piece, bytes);
    }

    @Override
    public Optional<InputStream> get(OwnerId owner, PieceId piece) throws IOException {
        Optional<InputStream> found = store.get(owner, piece);
        if (found.isPresent()) {
            return found;
        }
        Optional<Long> cycle = store.look(owner, piece).flatMap(PieceStore.Facts::trashedBy);
        if (cycle.isPresent() && store.restore(owner, piece, cycle.get())) {
            noteHit(owner, piece, cycle.get());
        }
        return store.get(owner, piece);
    }

    @Override
    public boolean renew(OwnerId owner, PieceId piece) throws IOException {
        return store.renew(owner, piece);
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
                try {
                    mine.write();
                } catch (IOException e) {
                    // The piece is back; the alarm stands in memory, and is written with the next change.
                    LOG.log(Level.WARNING, "node {0}: an alarm cannot be written: {1}", id, e.getMessage());
                }
            }
        }
    }

    @Override
    public boolean delete(OwnerId owner, PieceId piece) throws IOException {
        boolean deleted = store.delete(owner, piece);
        if (deleted) {
            OwnerBooks mine = books(owner);
            synchronized (mine) {
                mine.deleted(time.instant());
            }
        }
        return deleted;
    }

    public SortedSet<OwnerId> owners() throws IOException {
        return store.owners();
    }

    @Override
    public void list(OwnerId owner, PieceStore.Visitor visitor) throws IOException {
        for (int folder = 0; folder < store.folders(); folder++) {
            store.list(owner, folder, visitor);
        }
    }

    /** The store is listed in so many folders. */
    public int folders() {
        return store.folders();
    }

    /** Hands over the ids of the live pieces in a folder. */
    public void list(OwnerId owner, int folder, PieceStore.Visitor visitor) throws IOException {
        store.list(owner, folder, visitor);
    }

    /** The highest cycle that this node took of the owner. */
    public long lastCycle(OwnerId owner) throws IOException {
        return seen(owner).lastCycle;
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

    /**
     * An operator says that the cycle which waits here is about the same catalogue as before, as after a fail-over: the next one
     * goes on by itself. What waits is not carried out; brakes hold as ever.
     */
    public void sameCatalogue(OwnerId owner, long cycle) throws IOException {
        cycles.sameCatalogue(owner, cycle);
    }

    /** Walks all pieces of the owner and says what the cycle would trash. Changes no piece. */
    public NodeReport examine(Manifest manifest, LiveFilter filter, Progress progress) throws IOException {
        return cycles.examine(manifest, filter, progress);
    }

    /**
     * Trashes what the examination of this cycle found, if the verdict allows it or an operator does. Otherwise nothing
     * is trashed and the report says why.
     */
    public NodeReport trash(OwnerId owner, long cycle, Optional<Approval> approval, Progress progress)
            throws IOException {
        return cycles.trash(owner, cycle, approval, progress);
    }

    /** Goes on with cycles that were released and not finished when the node stopped. */
    public List<NodeReport> resume(Progress progress) throws IOException {
        return cycles.resume(progress);
    }

    /**
     * Undoes a cycle: voids it for good, then brings back everything that it trashed and that has no live twin. A walk of the
     * owner that is under way is stopped for it.
     */
    public Restored restore(OwnerId owner, long cycle) throws IOException {
        return cycles.restore(owner, cycle);
    }

    /** Brings one piece back, because the catalogue knows it; false if it is not in the trash of that cycle. */
    public boolean rescue(OwnerId owner, Suspect suspect) throws IOException {
        return store.restore(owner, suspect.id(), suspect.cycle());
    }

    /**
     * What emptying did.
     *
     * @param removed pieces that are gone for good
     * @param unconfirmed cycles whose trash is old enough and waits for a filter that another worker has built
     */
    public record Emptied(long removed, int unconfirmed) {}

    /** Deletes for good what two cycles agree on. */
    public Emptied empty(EmptyPermit permit) throws IOException {
        return cycles.empty(permit);
    }

    /** Pieces of the owner that were read though they were in the trash, and that nobody has looked into yet. */
    public List<NodeStatus.Alarm> alarms(OwnerId owner) throws IOException {
        OwnerBooks mine = seen(owner);
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
        return cycles.stored(owner)
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
        OwnerBooks mine = seen(owner);
        synchronized (mine) {
            return mine.past(cycle);
        }
    }

    /** Who answers for the filter that trashed the oldest trash of the owner; empty if nobody that is known. */
    String trashBuilder(OwnerId owner) throws IOException {
        OwnerBooks mine = seen(owner);
        synchronized (mine) {
            return mine.trash.isEmpty()
                    ? ""
                    : mine.trash.firstEntry().getValue().built().by();
        }
    }

    /** For a piece that arrives in parts. */
    public Incoming incoming() throws IOException {
        return new Incoming(state, config.pieceBytesMax(), "a piece", "sweep.node.piece-max");
    }

    /** Where what is not yet checked may lie. */
    Path state() {
        return state;
    }

    NodeBuilder.Config config() {
        return config;
    }

    @Override
    public PieceFate why(PieceId piece) throws IOException {
        Optional<Reclaimed> record = ledger.find(new ThingId(ThingId.Kind.PIECE, id.name(), piece.toString()));
        for (OwnerId owner : store.owners()) {
            Optional<PieceStore.Facts> facts = store.look(owner, piece);
            if (facts.isPresent()) {
                Instant spared = facts.get().age().plus(config.spareWindow());
                return new PieceFate(Optional.of(owner), facts, spared, record);
            }
        }
        return new PieceFate(Optional.empty(), Optional.empty(), Instant.EPOCH, record);
    }

    /** The books of an owner to look into: asking for an owner that is not here leaves nothing behind. */
    private OwnerBooks seen(OwnerId owner) throws IOException {
        synchronized (books) {
            boolean known = books.containsKey(owner) || OwnerBooks.exist(state, owner);
            return known ? books(owner) : OwnerBooks.open(state, owner, files);
        }
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

    /** To be called now and then while the node runs: compares its clocks, and writes what is only in memory. */
    public void look() throws IOException {
        clock.look();
        Ballast ballast = files.ballast();
        if (ballast != null) {
            ballast.keep();
        }
        List<OwnerBooks> open;
        synchronized (books) {
            open = List.copyOf(books.values());
        }
        for (OwnerBooks mine : open) {
            synchronized (mine) {
                if (!mine.deletes.isEmpty()) {
                    mine.write();
                }
            }
        }
    }

    @Override
    public void close() throws IOException {
        try {
            look();
        } catch (IOException e) {
            LOG.log(Level.WARNING, "node {0} could not write its books when it closed: {1}", id, e.getMessage());
        }
        clock.close();
        store.close();
        if (ledger instanceof FileLedger file) {
            file.close();
        }
        fileLock.acquiredBy().close();
    }
}
