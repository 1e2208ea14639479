package io.holdfast.bench.slab;

import io.holdfast.slab.SlabCache;
import io.holdfast.slab.SlabStats;
import java.nio.file.Path;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The slab cache, preset ADAPTIVE. */
final class HoldfastPeer implements CachePeer {

    private final SlabCache cache;

    HoldfastPeer(Path file, long bytes) {
        cache = SlabCache.open(file, bytes);
    }

    @Override
    public byte @Nullable [] get(long key) {
        return cache.get(CachePeer.keyBytes(key));
    }

    @Override
    public void put(long key, byte[] value) {
        cache.put(CachePeer.keyBytes(key), value);
    }

    @Override
    public String facts() {
        SlabStats stats = cache.stats();
        long mostPerPage = stats.pageBytes() / 64;
        return String.format(
                Locale.ROOT,
                "overhead=%.4f longestHoldMicros=%.1f mostEvicted=%d mostPerPage=%d pageMoves=%d clean=%b",
                stats.overhead(),
                stats.longestHold().toNanos() / 1e3,
                stats.mostEvictedByAPut(),
                mostPerPage,
                stats.pageMoves(),
                cache.audit().isClean());
    }

    @Override
    public void close() {
        cache.close();
    }
}
