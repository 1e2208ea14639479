package io.holdfast.sweep.node;

import io.holdfast.Reclaimed;
import io.holdfast.sweep.piece.OwnerId;
import java.time.Instant;
import java.util.Optional;

/**
 * What a node knows of one piece.
 *
 * @param owner whose it is, if the piece is here
 * @param facts where it is and how old; empty if it is not here
 * @param sparedUntil until when it is spared though no catalogue knows it, if it is here
 * @param record the newest record of a cycle that trashed it
 */
public record PieceFate(
        Optional<OwnerId> owner, Optional<PieceStore.Facts> facts, Instant sparedUntil, Optional<Reclaimed> record) {

    /** Live now, though a cycle trashed it at some time. */
    public boolean isRestored() {
        return facts.filter(PieceStore.Facts::isLive).isPresent() && record.isPresent();
    }
}
