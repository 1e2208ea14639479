package io.holdfast.sweep.node;

/** Why a piece that was looked at was kept. */
public enum SpareReason {
    /** The filter has it: it is live, or one of the few that pass by chance. */
    LIVE,
    /** Not in the filter, but too new to be judged by this snapshot. */
    YOUNG,
    /** Its age cannot be read. */
    AGE_UNKNOWN,
    /** Not a piece that this version knows. */
    UNKNOWN_KIND,
    /** Put or restored again between the examination and the trash. */
    RENEWED
}
