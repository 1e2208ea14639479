package io.holdfast.bench.slab;

import io.holdfast.bench.Row;
import io.holdfast.bench.Row.Direction;
import io.holdfast.bench.Run;
import io.holdfast.slab.SlabCache;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** How often the cache has what is asked for: on given traces, and on made-up ones where none is given. */
final class HitRatios {

    private HitRatios() {}

    /** The traces that were given: read before anything is measured, so that one that cannot be read is said at once. */
    static List<Trace> given(Run run) throws IOException {
        List<Trace> traces = new ArrayList<>();
        for (Path file : run.traces()) {
            traces.add(TraceReader.read(file));
        }
        return traces;
    }

    static void measure(Run run, Path folder, List<Trace> given) throws IOException {
        shift(run, folder);
        for (Trace trace : given) {
            replay(run, folder, trace, 16);
            replay(run, folder, trace, 64);
        }
        if (given.isEmpty()) {
            for (Trace shape : Shapes.all(run.size(400_000, 60_000))) {
                replay(run, folder, shape, 16);
            }
        }
    }

    /** 8 MiB of 300-byte values, then 60,000 requests for 4,000 keys of 1,500 bytes. */
    private static void shift(Run run, Path folder) {
        run.note("shift of sizes");
        try (CachePeer cache = new HoldfastPeer(folder.resolve("shift"), SlabCache.mebibytes(8))) {
            for (int i = 0; i < 40_000; i++) {
                cache.put(1_000_000 + i, new byte[300]);
            }
            SplittableRandom random = new SplittableRandom(5);
            int hits = 0;
            int requests = 60_000;
            for (int i = 0; i < requests; i++) {
                int key = random.nextInt(4_000);
                if (cache.get(key) != null) {
                    hits++;
                } else {
                    cache.put(key, new byte[1_500]);
                }
            }
            run.row(Row.reported("hit ratio after sizes shift", "part", Direction.HIGHER, (double) hits / requests)
                    .goal(0.93));
        }
    }

    private static void replay(Run run, Path folder, Trace trace, int mebibytes) throws IOException {
        run.note("trace " + trace.name() + " at " + mebibytes + " MiB");
        long bytes = SlabCache.mebibytes(mebibytes);
        String name = "hit ratio, " + trace.name() + " at " + mebibytes + " MiB";
        double own;
        Path place = Files.createTempDirectory(folder, "trace");
        try (CachePeer cache = new HoldfastPeer(place.resolve("cache"), bytes)) {
            own = trace.replay(cache, bytes);
        }
        double caffeine;
        try (CachePeer cache = new CaffeinePeer(bytes)) {
            caffeine = trace.replay(cache, bytes);
        }
        run.row(Row.compared(name, "part", Direction.HIGHER, own, trace.byteLru(bytes), "byte-LRU ideal")
                .goal(1));
        run.row(Row.compared(name, "part", Direction.HIGHER, own, caffeine, "caffeine"));
    }
}
