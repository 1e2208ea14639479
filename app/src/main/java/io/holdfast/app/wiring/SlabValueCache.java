package io.holdfast.app.wiring;

import io.holdfast.HoldfastException;
import io.holdfast.redis.graph.ValueCache;
import io.holdfast.slab.PutResult;
import io.holdfast.slab.SlabNamespace;
import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The slab cache as the near cache of graphs, for all JVMs of a host: {@code
 * Holdfast.builder().valueCache(new SlabValueCache(cache.namespace("values")))}.
 *
 * <p>It decides nothing: a graph asks it only under a hold that is still valid, by keys that name the life of the graph. So
 * what was reclaimed is not served even while its bytes are still here, and eviction takes them in time. What cannot be
 * cached (too large, the region busy, the cache closed) is read from Redis; a near cache never makes a read fail.
 */
public final class SlabValueCache implements ValueCache {

    private static final System.Logger LOG = System.getLogger(SlabValueCache.class.getName());

    private final SlabNamespace values;
    private final LongAdder hits = new LongAdder();
    private final LongAdder misses = new LongAdder();
    private final LongAdder notStored = new LongAdder();

    public SlabValueCache(SlabNamespace values) {
        this.values = values;
    }

    @Override
    public byte @Nullable [] get(byte[] key) {
        byte[] value = null;
        try {
            value = values.get(key);
        } catch (HoldfastException e) {
            LOG.log(Level.DEBUG, "the near cache could not be read", e);
        }
        (value == null ? misses : hits).increment();
        return value;
    }

    @Override
    public void put(byte[] key, byte[] value) {
        try {
            PutResult result = values.put(key, value);
            if (!result.stored()) {
                notStored.increment();
            }
        } catch (HoldfastException e) {
            notStored.increment();
            LOG.log(Level.DEBUG, "a value could not be cached", e);
        }
    }

    /** Reads that this process answered from the cache. */
    public long hits() {
        return hits.sum();
    }

    /** Reads that went to Redis. */
    public long misses() {
        return misses.sum();
    }

    /** Values that were read and could not be cached. */
    public long notStored() {
        return notStored.sum();
    }
}
