package io.holdfast.slab;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The right to load one key for the whole host. Closing it needs no lock and cannot fail, so that a load which ends while
 * the region is busy leaves nothing behind. Idempotent.
 */
final class LoadLease implements AutoCloseable {

    private final Loads loads;
    private final long entry;
    private final AtomicBoolean ended = new AtomicBoolean();

    LoadLease(Loads loads, long entry) {
        this.loads = loads;
        this.entry = entry;
    }

    long entry() {
        return entry;
    }

    boolean isPending() {
        return !ended.get();
    }

    @Override
    public void close() {
        if (ended.compareAndSet(false, true)) {
            loads.release(entry);
        }
    }
}
