package io.holdfast.sweep.node;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.Built;
import io.holdfast.sweep.retain.Manifest;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.DirectoryNotEmptyException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedSet;

/**
 * Deletes for good. A piece goes only if two cycles agree on it: the one that trashed it, and a later one whose filter
 *
 * <ol>
 *   <li>passed every check and was released, or approved, and carried out on this node;
 *   <li>speaks of a moment at least the trash age after the trashing: a writer who saw the piece before it was trashed has
 *       committed by then;
 *   <li>is independent of the one that trashed it: no single worker can have made both ({@link Built});
 *   <li>does not answer to the piece.
 * </ol>
 *
 * What the filter answers to stays, and is judged again by the next cycle.
 */
final class TrashEmptier {

    private static final System.Logger LOG = System.getLogger(TrashEmptier.class.getName());

    private final PieceStore store;
    private final OwnerBooks books;
    private final Duration keep;
    private final NodeClock clock;
    private final NodeStep.Watch watch;

    TrashEmptier(PieceStore store, OwnerBooks books, Duration keep, NodeClock clock, NodeStep.Watch watch) {
        this.store = store;
        this.books = books;
        this.keep = keep;
        this.clock = clock;
        this.watch = watch;
    }

    /**
     * Cycles whose trash is old enough.
     *
     * @param confirmable the later cycle may confirm them
     * @param unconfirmed how many need the filter of another worker
     */
    record Due(List<Long> confirmable, int unconfirmed) {}

    Due due(OwnerId owner, Manifest later, Instant now) throws IOException {
        List<Long> due = new ArrayList<>();
        int unconfirmed = 0;
        synchronized (books) {
            if (!books.hits.isEmpty()) {
                throw new HoldfastException(
                        Category.RETRY,
                        books.hits.size() + " trashed pieces of " + owner + " were read: an alarm stands",
                        "run a cycle, which asks the catalogue about them; restore the cycle if they are live",
                        null);
            }
            SortedSet<Long> here = store.trashCycles(owner);
            books.trash.keySet().retainAll(here);
            for (long cycle : here) {
                OwnerBooks.InTrash entry = books.trash.get(cycle);
                if (entry == null) {
                    // Its beginning is not known: it counts from now.
                    books.trash.put(cycle, new OwnerBooks.InTrash(now, Built.BY_SOMEBODY));
                    books.write();
                } else if (cycle < later.cycle() && isOld(entry, later, now)) {
                    if (entry.built().isIndependentOf(later.built())) {
                        due.add(cycle);
                    } else {
                        unconfirmed++;
                    }
                }
            }
        }
        return new Due(due, unconfirmed);
    }

    private boolean isOld(OwnerBooks.InTrash entry, Manifest later, Instant now) {
        Instant ripe = clock.noEarlierThanTheJump(entry.since()).plus(keep);
        return !ripe.isAfter(later.cutoff()) && !ripe.isAfter(now);
    }

    long empty(OwnerId owner, long cycle, LiveFilter filter) throws IOException {
        watch.reached(NodeStep.EMPTY_BEGUN);
        long[] counts = new long[2];
        long[] fingerprint = new long[2];
        boolean alarm = false;
        for (int folder = 0; folder < store.folders() && !alarm; folder++) {
            List<PieceId> garbage = new ArrayList<>();
            store.listTrash(owner, cycle, folder, new PieceStore.Visitor() {
                @Override
                public void piece(byte[] id) {
                    Fingerprint.put(id, 0, id.length, fingerprint, 0);
                    if (filter.mayContain(fingerprint[0], fingerprint[1])) {
                        counts[1]++;
                    } else {
                        garbage.add(PieceId.wrap(id));
                    }
                }

                @Override
                public void unknown(String name) {
                    // Not ours: it stays, and so does the folder around it.
                }
            });
            for (PieceId piece : garbage) {
                counts[0] += store.empty(owner, piece, cycle) ? 1 : 0;
            }
            synchronized (books) {
                alarm = !books.hits.isEmpty();
            }
        }
        if (!alarm && counts[1] == 0) {
            forget(owner, cycle);
        }
        watch.reached(NodeStep.EMPTY_DONE);
        return counts[0];
    }

    private void forget(OwnerId owner, long cycle) throws IOException {
        try {
            store.dropCycle(owner, cycle);
        } catch (DirectoryNotEmptyException e) {
            return; // something that is not a piece lies there
        }
        synchronized (books) {
            books.trash.remove(cycle);
            try {
                books.write();
            } catch (IOException e) {
                // The disk is still full. What was deleted is gone, and the books say so with their next change.
                LOG.log(Level.WARNING, "the books of {0} cannot be written: {1}", owner, e.getMessage());
            }
        }
    }
}
