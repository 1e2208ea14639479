package io.holdfast.app.cache;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.slab.AuditReport;
import io.holdfast.slab.SlabCache;
import io.holdfast.slab.SlabInspector;
import java.nio.file.Path;

/** The audit of a cache file as it is, damage included. */
public final class CacheAudit {

    private CacheAudit() {}

    /** Changes nothing; RETRY if others write to the cache all the time, so that no walk sees one state of it. */
    public static AuditReport of(Path path) {
        return SlabInspector.of(path)
                .audit()
                .orElseThrow(() -> new HoldfastException(
                        Category.RETRY,
                        "the cache " + path + " is being written to, so that no walk sees one state of it",
                        "run 'holdfast cache audit --under-lock', which keeps others from writing, or stop them",
                        null));
    }

    /** Attaches to the cache as one more process, and keeps others from writing to a shard while it is walked. */
    static AuditReport underLock(Path path) {
        try (SlabCache cache = SlabCache.attach(path)) {
            return cache.audit();
        }
    }
}
