package io.holdfast.bench;

/**
 * What some operations took. Wall time is what a caller feels; CPU time is what stays comparable on a machine that does
 * other work as well.
 *
 * @param serverCpuNanos of the Redis server, by its own account; 0 where none was asked
 * @param clientCpuNanos of this JVM, all threads
 */
public record Measurement(long operations, long wallNanos, long serverCpuNanos, long clientCpuNanos) {

    public double operationsPerSecond() {
        return operations * 1e9 / wallNanos;
    }

    public double wallMicros() {
        return wallNanos / 1e3 / operations;
    }

    public double serverMicros() {
        return serverCpuNanos / 1e3 / operations;
    }

    public double clientMicros() {
        return clientCpuNanos / 1e3 / operations;
    }
}
