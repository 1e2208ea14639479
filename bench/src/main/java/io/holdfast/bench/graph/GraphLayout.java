package io.holdfast.bench.graph;

import io.holdfast.redis.Holdfast;
import io.holdfast.redis.graph.GraphWriter;
import io.holdfast.redis.graph.Predecessor;
import io.holdfast.redis.graph.Root;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import redis.clients.jedis.Jedis;

/** The value graph as its users have it: one client, its duties running. */
final class GraphLayout implements Layout.Counting {

    private static final String[] VALUES = IntStream.range(0, 64)
            .mapToObj(shelf -> "hf:{graph:bench:0}:values:" + shelf)
            .toArray(String[]::new);
    private static final byte[] DOOMED = "hf:{graph:bench:0}:doomed".getBytes(StandardCharsets.US_ASCII);

    private final Jedis redis;
    private final Holdfast holdfast;
    private final Root root;
    private final GraphWriter writer;
    private final RandomGenerator random = new SplittableRandom(11);
    private Version<ValueId> top = new Version<>(ValueId.parse("00".repeat(16)), List.of());

    GraphLayout(URI server, Jedis redis) {
        this.redis = redis;
        this.holdfast = Holdfast.connect(server.toString());
        ValueGraph graph = holdfast.graph("bench");
        this.root = graph.root("main");
        this.writer = graph.writer();
    }

    @Override
    public void build(Tree tree) {
        List<ValueId> ids = new ArrayList<>();
        for (int i = 0; i < tree.size(); i++) {
            List<ValueId> children =
                    Arrays.stream(tree.children().get(i)).mapToObj(ids::get).toList();
            ids.add(writer.put(tree.values().get(i), children));
        }
        root.set(ids.getLast());
        top = Version.of(tree, ids);
    }

    @Override
    public void copyPaths(int copies, int together) {
        for (int i = 1; i <= copies; i++) {
            top.copyPath(random, (value, children, before) -> writer.put(value, children));
            if (i % together == 0) {
                writer.flush();
            }
        }
    }

    @Override
    public void nextVersions(int versions, int together) {
        for (int i = 1; i <= versions; i++) {
            top = top.copyPath(random, this::putAfter);
            if (i % together == 0) {
                writer.flush();
            }
        }
    }

    private ValueId putAfter(byte[] value, List<ValueId> children, Version<ValueId> before) {
        List<ValueId> known = before.children().stream().map(Version::id).toList();
        return writer.put(value, children, new Predecessor(before.id(), known));
    }

    @Override
    public void movePaths(int copies) {
        for (int i = 0; i < copies; i++) {
            top = top.copyPath(random, this::putAfter);
            root.set(top.id());
        }
        await(() -> redis.llen(DOOMED) == 0);
    }

    @Override
    public void drop() {
        root.drop();
        await(() -> redis.llen(DOOMED) == 0); // a short question: the drain rests while others ask much
        long left = redis.exists(VALUES);
        if (left != 0) {
            throw new IllegalStateException("the drop left values on " + left + " shelves");
        }
    }

    private static void await(BooleanSupplier done) {
        try {
            while (!done.getAsBoolean()) {
                TimeUnit.MILLISECONDS.sleep(20); // asking costs the server too
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while values drain", e);
        }
    }

    @Override
    public void close() {
        holdfast.close();
        redis.close();
    }
}
