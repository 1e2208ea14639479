package io.holdfast.redis.graph;

import io.holdfast.Time;

/**
 * The server's time as this process last heard it, moved on by the monotonic clock. Never ahead of the server, unless
 * the server's clock is set back: a call that must not arrive late carries it.
 */
final class ServerClock {

    private final Time time;
    private long serverMillis;
    private long heardNanos;

    ServerClock(Time time) {
        this.time = time;
    }

    synchronized void heard(long millis) {
        serverMillis = millis;
        heardNanos = time.nanoTime();
    }

    synchronized long millis() {
        return serverMillis + (time.nanoTime() - heardNanos) / 1_000_000;
    }
}
