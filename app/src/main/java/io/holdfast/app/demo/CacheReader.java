package io.holdfast.app.demo;

import io.holdfast.app.wiring.SlabValueCache;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.graph.Snapshot;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.slab.SlabCache;
import java.nio.file.Path;

/** A process that reads a tree through the slab cache. */
public final class CacheReader {

    private CacheReader() {}

    /** @param arguments address of Redis, file of the cache */
    public static void main(String[] arguments) {
        try (SlabCache slab = SlabCache.attach(Path.of(arguments[1]))) {
            SlabValueCache cache = new SlabValueCache(slab.namespace("values"));
            try (Holdfast holdfast =
                    Holdfast.builder().uri(arguments[0]).valueCache(cache).open()) {
                int values = read(holdfast.graph("pages"));
                System.out.println(values + " " + cache.hits() + " " + cache.misses());
            }
        }
    }

    /** Reads everything that hangs on the root; answers how many values. */
    static int read(ValueGraph pages) {
        try (Snapshot snapshot = pages.snapshot("main")) {
            int read = 1;
            snapshot.get(snapshot.target());
            for (ValueId child : snapshot.children(snapshot.target())) {
                snapshot.get(child);
                read++;
            }
            return read;
        }
    }
}
