package io.holdfast.app.demo;

import io.holdfast.HoldfastException;
import io.holdfast.app.wiring.SlabValueCache;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.graph.GraphWriter;
import io.holdfast.redis.graph.Snapshot;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.slab.SlabCache;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** One copy for all processes of a host, and never one that is gone. */
final class CacheChapter implements Chapter {

    private static final int PAGES = 3_000;

    @Override
    public String title() {
        return "slab cache: a copy goes when room is needed, and is never served when its value is gone";
    }

    @Override
    public void tell(Stage stage) throws Exception {
        try (SlabCache slab = SlabCache.open(stage.folder.resolve("cache"), SlabCache.mebibytes(16))) {
            SlabValueCache cache = new SlabValueCache(slab.namespace("values"));
            try (Holdfast reader = Holdfast.builder()
                    .uri(stage.holdfast.where())
                    .valueCache(cache)
                    .open()) {
                tell(stage, slab, cache, reader.graph("pages"));
            }
        }
    }

    private static void tell(Stage stage, SlabCache slab, SlabValueCache cache, ValueGraph pages) throws Exception {
        ValueId old;
        try (GraphWriter writer = pages.writer()) {
            List<ValueId> all = new ArrayList<>();
            for (int i = 0; i < PAGES; i++) {
                all.add(writer.put(("page " + i).repeat(20).getBytes(StandardCharsets.UTF_8)));
            }
            old = all.getFirst();
            pages.root("main").set(writer.put(new byte[] {1}, all));
        }
        double cold = read(pages);
        double warm = read(pages);
        stage.say("reading " + PAGES + " pages: " + Stage.number(cold) + " us each from Redis, " + Stage.number(warm)
                + " us each from shared memory");
        stage.claim(cache.hits() >= PAGES && warm < cold, "the second time Redis was asked for the lease alone");
        Process other = stage.start(
                CacheReader.class, stage.holdfast.where(), slab.file().toString());
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(other.getInputStream(), StandardCharsets.UTF_8))) {
            String said = String.valueOf(lines.readLine());
            stage.claim(
                    said.equals((PAGES + 1) + " " + (PAGES + 2) + " 0"),
                    "another process, which never read them, finds all of them there (values, hits, misses: " + said
                            + ")");
        }
        try (GraphWriter writer = pages.writer()) {
            pages.root("main").set(writer.put(new byte[] {2}));
        }
        stage.await(() -> pages.find(old).isEmpty());
        stage.claim(
                slab.stats().items() > PAGES && isRefused(pages, old),
                "the root moves on: the copies are still in memory, and nobody is served one");
        stage.figure("microsFromRedis", cold);
        stage.figure("microsFromSharedMemory", warm);
    }

    private static double read(ValueGraph pages) {
        long begun = System.nanoTime();
        int values = CacheReader.read(pages);
        return (System.nanoTime() - begun) / 1e3 / values;
    }

    private static boolean isRefused(ValueGraph pages, ValueId old) {
        try (Snapshot snapshot = pages.snapshot("main")) {
            snapshot.get(old);
            return false;
        } catch (HoldfastException e) {
            return e.category() == HoldfastException.Category.GONE;
        }
    }
}
