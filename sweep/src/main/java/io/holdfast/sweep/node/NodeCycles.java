package io.holdfast.sweep.node;

import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Ledger;
import io.holdfast.Time;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.Manifest;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The cycles of a node: examine, trash, restore, empty. One at a time of an owner; owners do not wait for each other. What it
 * promises, and in which order things are written down, is said at {@link StorageNode}.
 */
final class NodeCycles {

    private static final System.Logger LOG = System.getLogger(NodeCycles.class.getName());

    /** Where the books of an owner are. */
    @FunctionalInterface
    interface Books {
        OwnerBooks of(OwnerId owner) throws IOException;
    }

    private final NodeId id;
    private final Path state;
    private final PieceStore store;
    private final NodeBuilder.Config config;
    private final Ledger ledger;
    private final StateFiles files;
    private final NodeStep.Watch watch;
    private final NodeClock clock;
    private final Time time;
    private final HolderId by;
    private final Books books;

    NodeCycles(
            NodeId id,
            Path state,
            PieceStore store,
            NodeBuilder.Config config,
            Ledger ledger,
            StateFiles files,
            NodeClock clock,
            Time time,
            Books books) {
        this.id = id;
        this.state = state;
        this.store = store;
        this.config = config;
        this.ledger = ledger;
        this.files = files;
        this.watch = files.watch();
        this.clock = clock;
        this.time = time;
        this.by = HolderId.newIncarnation(id.name());
        this.books = books;
    }

    NodeReport examine(Manifest manifest, LiveFilter filter, StorageNode.Progress progress) throws IOException {
        OwnerBooks mine = books.of(manifest.owner());
        mine.retaining.lock();
        try {
            Instant now = time.instant();
            Refusal.check(manifest, filter, id, mine.lastCycle, now, config);
            clock.agreed();
            Instant limit = clock.judgeable(
                    (manifest.cutoff().isBefore(now) ? manifest.cutoff() : now).minus(config.spareWindow()));
            TrashProbe trash = new TrashProbe(store, manifest.owner(), filter);
            trash.run();
            RetainWalk walk = RetainWalk.examine(
                    store, manifest, filter, limit, time, config.walkLimit(), () -> mine.voiding != 0, by);
            run(walk, progress);
            if (walk.wasVoided()) {
                throw new HoldfastException(
                        Category.RETRY, "a restore came in between; nothing was examined", "run a cycle later", null);
            }
            return examined(manifest, filter, mine, limit, walk, trash);
        } finally {
            mine.retaining.unlock();
        }
    }

    private NodeReport examined(
            Manifest manifest, LiveFilter filter, OwnerBooks mine, Instant limit, RetainWalk walk, TrashProbe trash)
            throws IOException {
        synchronized (mine) {
            mine.look(time.instant());
            long deleted = mine.deletedSince(manifest.cutoff().minus(config.clockSkew()));
            long missing = manifest.distinctLeast() - walk.live() - trash.hits() - mine.knownLosses - deleted;
            Verdict verdict = verdict(manifest, filter, mine, walk, missing);
            mine.lastCycle = manifest.cycle();
            endCutWalk(mine, manifest.owner());
            // A dry run that could show nothing is not used up.
            if (verdict == Verdict.FIRST_CYCLE && walk.examined() > 0) {
                mine.examinedBefore = true;
                mine.incarnation = manifest.incarnation();
            }
            mine.write();
            RetainFile retain = new RetainFile(
                    manifest, verdict, limit, walk.examined(), walk.garbage(), walk.garbageBytes(), false, false);
            retain.write(state, files, filter);
            watch.reached(NodeStep.TRASH_PLANNED);
            String detail = Refusal.detail(verdict, walk.garbage(), missing, config);
            return report(retain, walk, false, trash.suspects(), detail);
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

    NodeReport trash(OwnerId owner, long cycle, Optional<Approval> approval, StorageNode.Progress progress)
            throws IOException {
        OwnerBooks mine = books.of(owner);
        mine.retaining.lock();
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
            LiveFilter filter = filter(retain);
            return carryOut(mine, retain.released() ? retain : release(mine, retain, approved), filter, progress);
        } finally {
            mine.retaining.unlock();
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
                List.of(),
                why);
    }

    private RetainFile release(OwnerBooks mine, RetainFile retain, boolean approved) throws IOException {
        Manifest manifest = retain.manifest();
        synchronized (mine) {
            Instant now = time.instant();
            mine.look(now);
            mine.note(new OwnerBooks.Past(manifest.cycle(), now, retain.examined(), retain.wouldTrash(), approved));
            mine.trash.put(manifest.cycle(), new OwnerBooks.InTrash(clock.instant(), manifest.built()));
            if (approved) {
                mine.incarnation = manifest.incarnation();
                mine.examinedBefore = true;
            }
            mine.write();
        }
        RetainFile released = retain.release(approved);
        released.write(state, files);
        return released;
    }

    private NodeReport carryOut(OwnerBooks mine, RetainFile retain, LiveFilter filter, StorageNode.Progress progress)
            throws IOException {
        long cycle = retain.manifest().cycle();
        watch.reached(NodeStep.TRASH_BEGUN);
        RetainWalk walk = RetainWalk.trash(
                store, retain, filter, time, config.walkLimit(), () -> mine.voiding == cycle, ledger, by);
        run(walk, progress);
        if (ledger instanceof FileLedger file) {
            file.flush();
        }
        if (walk.wasVoided() || walk.failure() != null) {
            String why = walk.wasVoided() ? "stopped: the cycle was restored" : "stopped: " + walk.failure();
            return report(retain, walk, true, List.of(), why);
        }
        synchronized (mine) {
            mine.look(time.instant());
            mine.trash.put(
                    cycle,
                    new OwnerBooks.InTrash(clock.instant(), retain.manifest().built()));
            mine.write();
        }
        retain.finish(state, files);
        watch.reached(NodeStep.TRASH_DONE);
        String detail = walk.failed() == 0 ? "done" : walk.failed() + " pieces could not be moved";
        return report(retain, walk, true, List.of(), detail);
    }

    /**
     * A new plan replaces that of a walk which never came to its end. What it had moved is kept from now on: its last piece
     * may have been moved just before the disk failed or the node was stopped.
     */
    private void endCutWalk(OwnerBooks mine, OwnerId owner) throws IOException {
        boolean isCut;
        try {
            isCut = stored(owner).filter(RetainFile::released).isPresent();
        } catch (HoldfastException e) {
            isCut = true; // the plan cannot be read, and is dropped
        }
        var last = mine.trash.lastEntry();
        if (isCut && last != null) {
            mine.trash.put(
                    last.getKey(),
                    new OwnerBooks.InTrash(clock.instant(), last.getValue().built()));
        }
    }

    /** Goes on with cycles that were released and not finished when the node stopped. */
    List<NodeReport> resume(StorageNode.Progress progress) throws IOException {
        List<NodeReport> reports = new ArrayList<>();
        for (OwnerId owner : store.owners()) {
            OwnerBooks mine = books.of(owner);
            mine.retaining.lock();
            try {
                Optional<RetainFile> retain = stored(owner);
                if (retain.isPresent() && retain.get().released()) {
                    reports.add(carryOut(mine, retain.get(), filter(retain.get()), progress));
                }
            } finally {
                mine.retaining.unlock();
            }
        }
        return reports;
    }

    /** The stored cycle; one that cannot be trusted is dropped here and now. */
    Optional<RetainFile> stored(OwnerId owner) throws IOException {
        try {
            Optional<RetainFile> retain = RetainFile.read(state, owner, RetainFile.Stage.UNDER_WAY);
            boolean voided = retain.isPresent()
                    && isVoided(owner, retain.get().manifest().cycle());
            return voided ? Optional.empty() : retain;
        } catch (HoldfastException e) {
            throw dropped(owner, RetainFile.Stage.UNDER_WAY, e);
        }
    }

    private LiveFilter filter(RetainFile retain) throws IOException {
        try {
            return retain.filter(state, config.filterBytesMax());
        } catch (HoldfastException e) {
            throw dropped(retain.manifest().owner(), RetainFile.Stage.UNDER_WAY, e);
        }
    }

    private HoldfastException dropped(OwnerId owner, RetainFile.Stage stage, HoldfastException why) throws IOException {
        LOG.log(Level.ERROR, "node {0}: {1}", id, why.getMessage());
        RetainFile.drop(state, files, owner, stage);
        return why;
    }

    private boolean isVoided(OwnerId owner, long cycle) throws IOException {
        OwnerBooks mine = books.of(owner);
        synchronized (mine) {
            return mine.voided.contains(cycle);
        }
    }

    private void run(RetainWalk walk, StorageNode.Progress progress) throws IOException {
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

    private NodeReport report(
            RetainFile retain, RetainWalk walk, boolean trashed, List<Suspect> suspects, String detail) {
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
                suspects,
                detail);
    }

    void sameCatalogue(OwnerId owner, long cycle) throws IOException {
        OwnerBooks mine = books.of(owner);
        mine.retaining.lock();
        try {
            RetainFile waiting = stored(owner)
                    .filter(plan -> plan.manifest().cycle() == cycle && plan.verdict() == Verdict.OTHER_CATALOGUE)
                    .orElseThrow(() -> new HoldfastException(
                            Category.GONE,
                            "node " + id + " has no cycle " + cycle + " of " + owner
                                    + " that waits for another catalogue",
                            "run a cycle, and name its number",
                            null));
            synchronized (mine) {
                mine.incarnation = waiting.manifest().incarnation();
                mine.write();
            }
        } finally {
            mine.retaining.unlock();
        }
    }

    StorageNode.Restored restore(OwnerId owner, long cycle) throws IOException {
        OwnerBooks mine = books.of(owner);
        if (cycle < 1 || cycle > mine.lastCycle) {
            throw HoldfastException.misuse(
                    "cycle " + cycle + " of " + owner + " was never given to node " + id + ", the last was "
                            + mine.lastCycle,
                    "name a cycle that 'holdfast sweep status' shows");
        }
        mine.voiding = cycle;
        mine.retaining.lock();
        try {
            synchronized (mine) {
                mine.voided.add(cycle);
                mine.write();
            }
            if (lastCarriedOut(owner)
                    .filter(last -> last.manifest().cycle() == cycle)
                    .isPresent()) {
                RetainFile.drop(state, files, owner, RetainFile.Stage.CARRIED_OUT);
            }
            watch.reached(NodeStep.RESTORE_VOIDED);
            long[] counts = new long[2];
            for (int folder = 0; folder < store.folders(); folder++) {
                for (PieceId piece : trashOf(owner, cycle, folder)) {
                    counts[store.restore(owner, piece, cycle) ? 0 : 1]++;
                }
            }
            watch.reached(NodeStep.RESTORE_DONE);
            return new StorageNode.Restored(counts[0], counts[1]);
        } finally {
            mine.voiding = 0;
            mine.retaining.unlock();
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

    private Optional<RetainFile> lastCarriedOut(OwnerId owner) throws IOException {
        try {
            return RetainFile.read(state, owner, RetainFile.Stage.CARRIED_OUT);
        } catch (HoldfastException e) {
            throw dropped(owner, RetainFile.Stage.CARRIED_OUT, e);
        }
    }

    StorageNode.Emptied empty(EmptyPermit permit) throws IOException {
        OwnerId owner = permit.owner();
        OwnerBooks mine = books.of(owner);
        mine.retaining.lock();
        try {
            Instant now = time.instant();
            if (!permit.isValid(id, now)) {
                throw HoldfastException.misuse(
                        "the permit to empty is for " + permit.node() + " at " + permit.issuedAt(),
                        "ask for a permit for node " + id + ", and use it within an hour");
            }
            Optional<RetainFile> last = lastCarriedOut(owner);
            if (last.isEmpty()) {
                return new StorageNode.Emptied(0, 0);
            }
            TrashEmptier emptier = new TrashEmptier(store, mine, config.trashKeep(), clock, watch);
            TrashEmptier.Due due = emptier.due(owner, last.get().manifest(), now);
            if (due.confirmable().isEmpty()) {
                return new StorageNode.Emptied(0, due.unconfirmed());
            }
            LiveFilter filter;
            try {
                filter = last.get().filter(state, config.filterBytesMax());
            } catch (HoldfastException e) {
                throw dropped(owner, RetainFile.Stage.CARRIED_OUT, e);
            }
            long removed = 0;
            for (long cycle : due.confirmable()) {
                removed += emptier.empty(owner, cycle, filter);
            }
            return new StorageNode.Emptied(removed, due.unconfirmed());
        } finally {
            mine.retaining.unlock();
        }
    }
}
