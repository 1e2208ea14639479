package io.holdfast.redis.graph;

import org.jspecify.annotations.Nullable;

/**
 * A cache that reads of a snapshot may go through. Keys name the life of the graph, so that a graph that was destroyed
 * and made anew never finds the old one's values; and the graph asks it only under a hold that is still valid, for what
 * that hold keeps ({@link CachedReads}).
 */
public interface ValueCache {

    /** The cached value, or null. */
    byte @Nullable [] get(byte[] key);

    void put(byte[] key, byte[] value);
}
