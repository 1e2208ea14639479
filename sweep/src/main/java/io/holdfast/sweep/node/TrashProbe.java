package io.holdfast.sweep.node;

import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Looks through the trash of an owner with the filter of a later cycle. What the filter answers to is here, in the trash, and
 * is suspected of being live. If those are more than may be told of, a fair sample is: each suspect of any cycle has the same
 * chance, and another one in the next cycle.
 */
final class TrashProbe {

    private final PieceStore store;
    private final OwnerId owner;
    private final LiveFilter filter;
    private final List<Suspect> suspects = new ArrayList<>();
    private final long[] fingerprint = new long[2];
    private final SplittableRandom random;
    private long hits;

    TrashProbe(PieceStore store, OwnerId owner, LiveFilter filter) {
        this.store = store;
        this.owner = owner;
        this.filter = filter;
        this.random = new SplittableRandom(filter.seed());
    }

    void run() throws IOException {
        for (long cycle : store.trashCycles(owner)) {
            for (int i = 0; i < store.folders(); i++) {
                store.listTrash(owner, cycle, i, visitor(cycle));
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
                    sample(cycle, id);
                }
            }

            @Override
            public void unknown(String name) {
                // Not a piece: nothing is said of it.
            }
        };
    }

    /** The n-th suspect takes the place of one of those so far with a chance of MOST in n. */
    private void sample(long cycle, byte[] id) {
        if (suspects.size() < Suspect.MOST) {
            suspects.add(new Suspect(cycle, PieceId.of(id)));
            return;
        }
        long at = random.nextLong(hits);
        if (at < Suspect.MOST) {
            suspects.set((int) at, new Suspect(cycle, PieceId.of(id)));
        }
    }

    /** How many pieces in the trash the filter answers to. */
    long hits() {
        return hits;
    }

    List<Suspect> suspects() {
        return suspects;
    }
}
