package io.holdfast.story;

import io.holdfast.HoldfastException;
import io.holdfast.app.wiring.SlabValueCache;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.graph.Snapshot;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.slab.SlabCache;
import io.holdfast.testkit.ChildJvm;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** A process that reads documents through the slab cache of the host, as it is told by lines. */
final class ReaderJvm {

    private ReaderJvm() {}

    /** @param arguments address of Redis, file of the cache */
    public static void main(String[] arguments) throws Exception {
        try (SlabCache slab = SlabCache.open(Path.of(arguments[1]), SlabCache.mebibytes(16))) {
            SlabValueCache cache = new SlabValueCache(slab.namespace("values"));
            try (Holdfast holdfast = Holdfast.builder()
                            .uri(arguments[0])
                            .valueCache(cache)
                            .open();
                    BufferedReader orders =
                            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
                ValueGraph docs = holdfast.graph("docs");
                ChildJvm.sayReady();
                for (String order = orders.readLine(); order != null; order = orders.readLine()) {
                    String[] words = order.split(" ");
                    if (words[0].equals("read")) {
                        long hits = cache.hits();
                        long misses = cache.misses();
                        int values = readAll(docs);
                        ChildJvm.say("read " + values + " values, " + (cache.hits() - hits) + " hits, "
                                + (cache.misses() - misses) + " misses");
                    } else {
                        ChildJvm.say(readOne(docs, ValueId.parse(words[1])));
                    }
                }
            }
        }
    }

    private static int readAll(ValueGraph docs) {
        try (Snapshot snapshot = docs.snapshot("main")) {
            return readBelow(snapshot, snapshot.target());
        }
    }

    private static int readBelow(Snapshot snapshot, ValueId id) {
        int read = 1;
        snapshot.get(id);
        for (ValueId child : snapshot.children(id)) {
            read += readBelow(snapshot, child);
        }
        return read;
    }

    private static String readOne(ValueGraph docs, ValueId id) {
        try (Snapshot snapshot = docs.snapshot("main")) {
            return "served " + snapshot.get(id).length + " bytes";
        } catch (HoldfastException e) {
            return "refused: " + e.category();
        }
    }
}
