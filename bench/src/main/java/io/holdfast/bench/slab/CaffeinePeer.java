package io.holdfast.bench.slab;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import org.jspecify.annotations.Nullable;

/** Caffeine, weighed by bytes; on the heap, and get returns the reference. */
final class CaffeinePeer implements CachePeer {

    /** What an entry costs beside its value: node, boxed key, table entry, array header. */
    private static final int ENTRY_BYTES = 120;

    private final Cache<Long, byte[]> cache;

    CaffeinePeer(long bytes) {
        cache = Caffeine.newBuilder()
                .maximumWeight(bytes)
                .<Long, byte[]>weigher((key, value) -> value.length + ENTRY_BYTES)
                .executor(Runnable::run)
                .build();
    }

    @Override
    public byte @Nullable [] get(long key) {
        return cache.getIfPresent(key);
    }

    @Override
    public void put(long key, byte[] value) {
        cache.put(key, value);
    }

    @Override
    public boolean offHeap() {
        return false;
    }

    @Override
    public void close() {
        cache.invalidateAll();
    }
}
