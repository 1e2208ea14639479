package io.holdfast.bench.graph;

import io.holdfast.testkit.RedisServer;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import redis.clients.jedis.Jedis;

/** Another client, which does nothing but PING, about a thousand times a second, and notes how long each took. */
final class Pings implements AutoCloseable {

    private final Histogram nanos = new Histogram(TimeUnit.MINUTES.toNanos(1), 3);
    private final Thread thread;
    private volatile boolean stopped;

    Pings(RedisServer server) {
        thread = Thread.ofPlatform().name("pings").start(() -> {
            try (Jedis redis = server.client()) {
                while (!stopped) {
                    long begin = System.nanoTime();
                    redis.ping();
                    nanos.recordValue(System.nanoTime() - begin);
                    TimeUnit.MILLISECONDS.sleep(1);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    /** Stops, and answers the 99th percentile in milliseconds. */
    double stop() throws InterruptedException {
        stopped = true;
        thread.join();
        return nanos.getValueAtPercentile(99) / 1e6;
    }

    @Override
    public void close() {
        stopped = true;
    }
}
