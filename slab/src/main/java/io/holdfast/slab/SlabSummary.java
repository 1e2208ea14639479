package io.holdfast.slab;

/**
 * The few figures of a cache that are watched all the time, of all processes together; {@link SlabStats} has the rest.
 *
 * @param values in the cache, lapsed and cleared ones that were not yet met included
 * @param bytes of their headers, keys and values
 */
public record SlabSummary(long values, long bytes, long hits, long misses, long stored, long removed, long evicted) {

    /** Hits in all reads; 0 if there were none. */
    public double hitRatio() {
        return hits + misses == 0 ? 0 : (double) hits / (hits + misses);
    }
}
