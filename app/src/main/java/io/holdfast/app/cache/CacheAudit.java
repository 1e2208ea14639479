package io.holdfast.app.cache;

import io.holdfast.slab.AuditReport;
import io.holdfast.slab.SlabCache;
import io.holdfast.slab.SlabInspector;
import java.nio.file.Path;

/** The audit of a cache file as it is, damage included. */
public final class CacheAudit {

    private CacheAudit() {}

    /** Attaches to the cache only if living processes write to it all the time: they have repaired it already. */
    public static AuditReport of(Path path) {
        return SlabInspector.of(path).audit().orElseGet(() -> {
            try (SlabCache cache = SlabCache.attach(path)) {
                return cache.audit();
            }
        });
    }
}
