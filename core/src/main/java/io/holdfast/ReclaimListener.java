package io.holdfast;

/**
 * The in-process notice of reclaims: called at most once for each, in the process that reclaimed, after the store has
 * done it. A crash loses the notice; the {@link Ledger} is the reliable record. An exception of a listener is logged
 * and changes nothing.
 */
@FunctionalInterface
public interface ReclaimListener {
    void onReclaimed(Reclaimed reclaimed);
}
