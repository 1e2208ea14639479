package io.holdfast.sweep.node;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * Deletes for good what a cycle trashed long enough ago: by the clock, and by the time that the node was observed to
 * run, since a clock can be set forward by mistake.
 */
final class TrashEmptier {

    private final PieceStore store;
    private final OwnerBooks books;
    private final Duration keep;
    private final NodeStep.Watch watch;

    TrashEmptier(PieceStore store, OwnerBooks books, Duration keep, NodeStep.Watch watch) {
        this.store = store;
        this.books = books;
        this.keep = keep;
        this.watch = watch;
    }

    long empty(OwnerId owner, Instant now) throws IOException {
        List<Long> due = new ArrayList<>();
        synchronized (books) {
            if (!books.hits.isEmpty()) {
                throw new HoldfastException(
                        Category.RETRY,
                        books.hits.size() + " trashed pieces of " + owner + " were read: an alarm stands",
                        "plan a cycle, which asks the catalogue about them; restore the cycle if they are live",
                        null);
            }
            books.look(now);
            for (long cycle : store.trashCycles(owner)) {
                books.trash.putIfAbsent(cycle, new OwnerBooks.InTrash(now, Duration.ZERO));
            }
            books.trash.forEach((cycle, entry) -> {
                boolean byClock = !entry.since().plus(keep).isAfter(now);
                if (byClock && entry.observed().compareTo(keep) >= 0) {
                    due.add(cycle);
                }
            });
            books.write();
        }
        long removed = 0;
        for (long cycle : due) {
            watch.reached(NodeStep.EMPTY_BEGUN);
            removed += empty(owner, cycle);
            watch.reached(NodeStep.EMPTY_DONE);
        }
        return removed;
    }

    private long empty(OwnerId owner, long cycle) throws IOException {
        long removed = 0;
        boolean alarm = false;
        for (int folder = 0; folder < store.folders() && !alarm; folder++) {
            List<PieceId> pieces = new ArrayList<>();
            store.listTrash(owner, cycle, folder, new PieceStore.Visitor() {
                @Override
                public void piece(byte[] id) {
                    pieces.add(PieceId.wrap(id));
                }

                @Override
                public void unknown(String name) {
                    // Not ours: it stays, and so does the folder around it.
                }
            });
            for (PieceId piece : pieces) {
                removed += store.empty(owner, piece, cycle) ? 1 : 0;
            }
            synchronized (books) {
                alarm = !books.hits.isEmpty();
            }
        }
        if (!alarm) {
            try {
                store.dropCycle(owner, cycle);
            } catch (DirectoryNotEmptyException e) {
                // Something that is not a piece lies there.
            }
            synchronized (books) {
                books.trash.remove(cycle);
                books.write();
            }
        }
        return removed;
    }
}
