package io.holdfast.sweep.rpc;

import io.holdfast.HoldfastException;
import io.holdfast.Time;
import java.time.Duration;
import java.util.List;
import java.util.TreeMap;

/** The workers that have said that they are there, each as long as it keeps saying so. */
public final class Registrations {

    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final int WORKERS_MAX = 10_000;

    private final Time time;
    private final TreeMap<String, Long> untilNanos = new TreeMap<>();

    public Registrations(Time time) {
        this.time = time;
    }

    synchronized Duration register(String address) {
        Wire.address(address);
        forget();
        if (untilNanos.size() >= WORKERS_MAX && !untilNanos.containsKey(address)) {
            throw HoldfastException.misuse(WORKERS_MAX + " workers have registered", "stop some of them");
        }
        untilNanos.put(address, time.nanoTime() + LEASE.toNanos());
        notifyAll();
        return LEASE;
    }

    private void forget() {
        long now = time.nanoTime();
        untilNanos.values().removeIf(until -> until - now < 0);
    }

    /** Waits until somebody has registered. */
    public synchronized void await() throws InterruptedException {
        while (addresses().isEmpty()) {
            wait();
        }
    }

    /** Those whose lease has not lapsed. */
    public synchronized List<String> addresses() {
        forget();
        return List.copyOf(untilNanos.keySet());
    }
}
