package io.holdfast.sweep;

/** Told how far a cycle is, from the threads that do the work. */
@FunctionalInterface
public interface SweepProgress {

    /** What is being done. */
    enum Phase {
        COUNT,
        SCAN,
        EXAMINE,
        TRASH
    }

    SweepProgress NONE = (phase, what, done, total) -> {};

    /**
     * @param what the catalogue's owner, or the node
     * @param done rows for a scan, folders for a walk
     * @param total what done will be at the end; 0 if nobody knows
     */
    void progress(Phase phase, String what, long done, long total);
}
