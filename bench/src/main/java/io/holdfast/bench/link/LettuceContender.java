package io.holdfast.bench.link;

import io.lettuce.core.LettuceFutures;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Lettuce as its documentation recommends: one shared connection; batches with automatic flushing off. */
final class LettuceContender implements LinkContender {

    private final RedisClient client;
    private final StatefulRedisConnection<byte[], byte[]> shared;
    private final StatefulRedisConnection<byte[], byte[]> batching;
    private final String digest;

    LettuceContender(URI server, byte[] script) {
        client = RedisClient.create(server.toString());
        shared = client.connect(ByteArrayCodec.INSTANCE);
        batching = client.connect(ByteArrayCodec.INSTANCE);
        digest = shared.sync().scriptLoad(script);
        batching.setAutoFlushCommands(false);
    }

    @Override
    public String name() {
        return "lettuce";
    }

    @Override
    public Object call(byte[] key, List<byte[]> arguments) {
        return shared.sync()
                .evalsha(digest, ScriptOutputType.MULTI, new byte[][] {key}, arguments.toArray(byte[][]::new));
    }

    @Override
    public void batch(byte[] key, List<List<byte[]>> calls) {
        byte[][] keys = {key};
        List<RedisFuture<?>> replies = new ArrayList<>(calls.size());
        for (List<byte[]> arguments : calls) {
            replies.add(
                    batching.async().evalsha(digest, ScriptOutputType.MULTI, keys, arguments.toArray(byte[][]::new)));
        }
        batching.flushCommands();
        LettuceFutures.awaitAll(Duration.ofSeconds(10), replies.toArray(RedisFuture<?>[]::new));
    }

    @Override
    public void close() {
        shared.close();
        batching.close();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
}
