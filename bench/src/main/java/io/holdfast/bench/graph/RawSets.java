package io.holdfast.bench.graph;

import java.util.random.RandomGenerator;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;

/** Plain SET, pipelined: the floor. It keeps no edges and can reclaim nothing. */
final class RawSets implements Layout {

    static final int PIPELINE = 1_000;

    private final Jedis redis;

    RawSets(Jedis redis) {
        this.redis = redis;
    }

    @Override
    public void build(Tree tree) {
        RandomGenerator random = RandomGenerator.of("L64X128MixRandom");
        Pipeline pipeline = redis.pipelined();
        for (int i = 0; i < tree.size(); i++) {
            byte[] id = new byte[16];
            random.nextBytes(id);
            pipeline.set(id, tree.values().get(i));
            if (i % PIPELINE == PIPELINE - 1) {
                pipeline.sync();
            }
        }
        pipeline.sync();
    }

    @Override
    public void close() {
        redis.close();
    }
}
