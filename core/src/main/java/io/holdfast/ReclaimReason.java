package io.holdfast;

/** Why a thing is gone. */
public enum ReclaimReason {
    /** Its last holder gave it up on purpose, directly or by a cascade. */
    RELEASED,
    /** Its last holder stopped renewing and the lease ran out. */
    LAPSED,
    /** A session that nobody served any longer, after its grace. */
    CLOSED,
    /** An aggregate whose merged value was written to its sink. */
    FLUSHED,
    /** A piece that no catalogue knows, moved to the trash. */
    SWEPT,
    /** A copy that made room for another though it was still wanted. */
    EVICTED,
    /** A leak that verify found and repair removed. */
    REPAIRED,
    /** A dead letter that an operator discarded. */
    DISCARDED,
    /** The whole it belonged to was destroyed by an operator. */
    DESTROYED
}
