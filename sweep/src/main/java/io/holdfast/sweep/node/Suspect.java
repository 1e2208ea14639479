package io.holdfast.sweep.node;

import io.holdfast.sweep.piece.PieceId;

/**
 * A piece in the trash that a later filter answers to. It may be live, or pass by chance: only the catalogue knows.
 *
 * @param cycle which cycle trashed it
 */
public record Suspect(long cycle, PieceId id) {

    /** A node tells of no more in one cycle; what is left stays in the trash, and another cycle tells of it. */
    public static final int MOST = 1_000;
}
