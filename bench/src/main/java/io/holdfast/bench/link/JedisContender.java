package io.holdfast.bench.link;

import java.net.URI;
import java.time.Duration;
import java.util.List;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.RedisClient;

/** Jedis as its documentation recommends: a pool of connections; batches by its pipeline. */
final class JedisContender implements LinkContender {

    private final RedisClient client;
    private final byte[] digest;

    JedisContender(URI server, int connections, byte[] script) {
        ConnectionPoolConfig pool = new ConnectionPoolConfig();
        pool.setMaxTotal(connections);
        pool.setMaxIdle(connections);
        pool.setMaxWait(Duration.ofSeconds(10));
        client = RedisClient.builder()
                .hostAndPort(server.getHost(), server.getPort())
                .poolConfig(pool)
                .build();
        digest = client.scriptLoad(script, new byte[0]);
    }

    @Override
    public String name() {
        return "jedis";
    }

    @Override
    public Object call(byte[] key, List<byte[]> arguments) {
        return client.evalsha(digest, List.of(key), arguments);
    }

    @Override
    public void batch(byte[] key, List<List<byte[]>> calls) {
        try (AbstractPipeline pipeline = client.pipelined()) {
            List<byte[]> keys = List.of(key);
            for (List<byte[]> arguments : calls) {
                pipeline.evalsha(digest, keys, arguments);
            }
            pipeline.sync();
        }
    }

    @Override
    public void close() {
        client.close();
    }
}
