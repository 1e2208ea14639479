package io.holdfast.sweep.catalogue;

import io.holdfast.sweep.catalogue.Catalogue.PieceSink;

/**
 * Rides on the scan of a cycle, so that reports, audits and exports need no scan of their own. It sees each piece as
 * the filters do. An exception of an observer aborts the cycle, as any other would.
 */
public interface ScanObserver {

    /** The sink for one range; each range is scanned by one thread. */
    PieceSink range(int range);

    /** Every range was handed over and the counts agreed. */
    default void complete() {}

    /** The cycle was aborted: what was seen is not the whole. */
    default void aborted(Throwable cause) {}
}
