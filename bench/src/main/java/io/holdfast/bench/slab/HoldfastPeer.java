package io.holdfast.bench.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.slab.SlabCache;
import io.holdfast.slab.SlabStats;
import java.nio.file.Path;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The slab cache, preset ADAPTIVE. */
final class HoldfastPeer implements CachePeer {

    private final SlabCache cache;
    private final Path file;
    private final long bytes;

    HoldfastPeer(Path file, long bytes) {
        this.cache = SlabCache.open(file, bytes);
        this.file = file;
        this.bytes = bytes;
    }

    @Override
    public CachePeer another() {
        return new HoldfastPeer(file.resolveSibling(file.getFileName() + "-another"), bytes);
    }

    @Override
    public double longestHoldMicros() {
        return cache.stats().longestHold().toNanos() / 1e3;
    }

    @Override
    public byte @Nullable [] get(long key) {
        return cache.get(CachePeer.keyBytes(key));
    }

    @Override
    public void put(long key, byte[] value) {
        try {
            cache.put(CachePeer.keyBytes(key), value);
        } catch (HoldfastException e) {
            if (e.category() != Category.MISUSE && e.category() != Category.FULL) {
                throw e;
            }
            // Larger than the whole cache, as some objects of traces are: it is not kept.
        }
    }

    @Override
    public String facts() {
        SlabStats stats = cache.stats();
        long mostPerPage = stats.pageBytes() / 64;
        return String.format(
                Locale.ROOT,
                "overhead=%.4f longestHoldMicros=%.1f mostEvicted=%d mostPerPage=%d pageMoves=%d clean=%b",
                stats.overhead(),
                longestHoldMicros(),
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
