package io.holdfast.app.demo;

import io.holdfast.redis.link.RedisLink;
import java.nio.charset.StandardCharsets;
import redis.clients.jedis.Protocol.Command;

/** Another client of the server, who asks all the time and notes the longest wait. */
final class Pings implements AutoCloseable {

    private static final byte[] KEY = "hf:{demo:pings:0}:none".getBytes(StandardCharsets.US_ASCII);

    private final RedisLink link;
    private final Thread thread;
    private volatile boolean ended;
    private long longestNanos;

    Pings(RedisLink link) {
        this.link = link;
        link.command(Command.HLEN, KEY);
        this.thread = Thread.ofPlatform().daemon().name("holdfast-demo-pings").start(this::run);
    }

    private void run() {
        while (!ended) {
            long begun = System.nanoTime();
            link.command(Command.HLEN, KEY);
            longestNanos = Math.max(longestNanos, System.nanoTime() - begun);
        }
    }

    /** Ends; answers the longest wait in milliseconds. */
    double longestMillis() {
        ended = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return Stage.millis(longestNanos);
    }

    @Override
    public void close() {
        longestMillis();
        link.close();
    }
}
