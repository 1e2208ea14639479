package io.holdfast.bench.slab;

import org.ehcache.Cache;
import org.ehcache.CacheManager;
import org.ehcache.config.builders.CacheConfigurationBuilder;
import org.ehcache.config.builders.CacheManagerBuilder;
import org.ehcache.config.builders.ResourcePoolsBuilder;
import org.ehcache.config.units.MemoryUnit;
import org.jspecify.annotations.Nullable;

/** Ehcache with its off-heap store. */
final class EhcachePeer implements CachePeer {

    private final CacheManager manager;
    private final Cache<Long, byte[]> cache;

    EhcachePeer(long bytes) {
        manager = CacheManagerBuilder.newCacheManagerBuilder()
                .withCache(
                        "bench",
                        CacheConfigurationBuilder.newCacheConfigurationBuilder(
                                Long.class,
                                byte[].class,
                                ResourcePoolsBuilder.newResourcePoolsBuilder().offheap(bytes >> 20, MemoryUnit.MB)))
                .build(true);
        cache = manager.getCache("bench", Long.class, byte[].class);
    }

    @Override
    public byte @Nullable [] get(long key) {
        return cache.get(key);
    }

    @Override
    public void put(long key, byte[] value) {
        cache.put(key, value);
    }

    @Override
    public void close() {
        manager.close();
    }
}
