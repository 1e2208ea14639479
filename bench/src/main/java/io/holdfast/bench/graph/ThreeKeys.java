package io.holdfast.bench.graph;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;

/**
 * The peer: three keys a value (bytes, counter, list of children), as the hitchhiker tree's reference counting on Redis
 * does it. A script per inner value counts and lists its children edge by edge, and one script drops a whole tree.
 * Everything is pipelined as far as it goes, and nothing is checked.
 */
final class ThreeKeys implements Layout.Counting {

    /** An id as a list element and as a key. */
    private record Key(byte[] bytes) {}

    private final Jedis redis;
    private final RandomGenerator random = new SplittableRandom(11);
    private final byte[] add;
    private final byte[] drop;
    private Version<Key> top = new Version<>(new Key(new byte[0]), List.of());

    ThreeKeys(Jedis redis) {
        this.redis = redis;
        this.add = load("three-keys-add.lua");
        this.drop = load("three-keys-drop.lua");
    }

    private byte[] load(String script) {
        try (InputStream in = ThreeKeys.class.getResourceAsStream(script)) {
            if (in == null) {
                throw new IllegalStateException(script + " is not on the class path");
            }
            return redis.scriptLoad(in.readAllBytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void build(Tree tree) {
        List<Key> ids = new ArrayList<>();
        Pipeline pipeline = redis.pipelined();
        for (int i = 0; i < tree.size(); i++) {
            List<Key> children =
                    Arrays.stream(tree.children().get(i)).mapToObj(ids::get).toList();
            ids.add(put(pipeline, tree.values().get(i), children));
            if (i % RawSets.PIPELINE == RawSets.PIPELINE - 1) {
                pipeline.sync();
            }
        }
        name(pipeline, ids.getLast());
        pipeline.sync();
        top = Version.of(tree, ids);
    }

    private Key put(Pipeline pipeline, byte[] value, List<Key> children) {
        byte[] id = new byte[16];
        random.nextBytes(id);
        pipeline.set(id, value);
        if (!children.isEmpty()) {
            pipeline.evalsha(add, List.of(id), children.stream().map(Key::bytes).toList());
        }
        return new Key(id);
    }

    private static void name(Pipeline pipeline, Key top) {
        byte[] counter = Arrays.copyOf(top.bytes(), top.bytes().length + 3);
        System.arraycopy(new byte[] {':', 'r', 'c'}, 0, counter, top.bytes().length, 3);
        pipeline.incr(counter);
    }

    @Override
    public void copyPaths(int copies, int together) {
        Pipeline pipeline = redis.pipelined();
        for (int i = 1; i <= copies; i++) {
            Version<Key> copy = top.copyPath(random, (value, children, before) -> put(pipeline, value, children));
            name(pipeline, copy.id());
            if (i % together == 0) {
                pipeline.sync();
            }
        }
    }

    @Override
    public void nextVersions(int versions, int together) {
        Pipeline pipeline = redis.pipelined();
        for (int i = 1; i <= versions; i++) {
            top = top.copyPath(random, (value, children, before) -> put(pipeline, value, children));
            name(pipeline, top.id());
            if (i % together == 0) {
                pipeline.sync();
            }
        }
        pipeline.sync();
    }

    @Override
    public void movePaths(int copies) {
        for (int i = 0; i < copies; i++) {
            Pipeline pipeline = redis.pipelined();
            Version<Key> old = top;
            top = top.copyPath(random, (value, children, before) -> put(pipeline, value, children));
            name(pipeline, top.id());
            pipeline.evalsha(drop, List.of(old.id().bytes()), List.of());
            pipeline.sync();
        }
    }

    @Override
    public void drop() {
        redis.evalsha(drop, List.of(top.id().bytes()), List.of());
        if (redis.dbSize() != 0) {
            throw new IllegalStateException(
                    "the drop of " + HexFormat.of().formatHex(top.id().bytes()) + " left " + redis.dbSize() + " keys");
        }
    }

    @Override
    public void close() {
        redis.close();
    }
}
