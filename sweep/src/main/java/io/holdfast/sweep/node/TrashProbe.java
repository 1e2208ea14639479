package io.holdfast.sweep.node;

import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Looks through the trash of an owner with the filter of a later cycle. What the filter answers to is here, in the trash, and
 * is suspected of being live. It begins at another folder each time, so that with many suspects each is told of at some time.
 */
final class TrashProbe {

    private final PieceStore store;
    private final OwnerId owner;
    private final LiveFilter filter;
    private final List<Suspect> suspects = new ArrayList<>();
    private final long[] fingerprint = new long[2];
    private long hits;

    TrashProbe(PieceStore store, OwnerId owner, LiveFilter filter) {
        this.store = store;
        this.owner = owner;
        this.filter = filter;
    }

    void run() throws IOException {
        int first = (int) Long.remainderUnsigned(filter.seed(), store.folders());
        for (long cycle : store.trashCycles(owner)) {
            for (int i = 0; i < store.folders(); i++) {
                store.listTrash(owner, cycle, (first + i) % store.folders(), visitor(cycle));
            }
        }
    }

    private PieceStore.Visitor visitor(long cycle) {
        return new PieceStore.Visitor() {
            @Override
            public void piece(byte[] id) {
                Fingerprint.put(id, 0, id.length, fingerprint, 0);
                if (filter.mayContain(fingerprint[0], fingerprint[1])) {
                    hits++;
                    if (suspects.size() < Suspect.MOST) {
                        suspects.add(new Suspect(cycle, PieceId.of(id)));
                    }
                }
            }

            @Override
            public void unknown(String name) {
                // Not a piece: nothing is said of it.
            }
        };
    }

    /** How many pieces in the trash the filter answers to. */
    long hits() {
        return hits;
    }

    List<Suspect> suspects() {
        return suspects;
    }
}
