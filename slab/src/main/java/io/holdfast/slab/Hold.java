package io.holdfast.slab;

import java.lang.ref.Reference;

/**
 * The region's lock, held by this thread until it is closed. While the region is untidy, because it was taken from the dead
 * or because a mutation failed, closing does not free the lock: it passes the lock on as {@link RegionLock#UNTIDY}, and
 * who takes it next, in whatever process, has to repair first.
 */
final class Hold implements AutoCloseable {

    private final RegionLock lock;
    private boolean untidy;

    Hold(RegionLock lock, boolean untidy) {
        this.lock = lock;
        this.untidy = untidy;
    }

    boolean isUntidy() {
        return untidy;
    }

    void leaveUntidy() {
        untidy = true;
    }

    void tidied() {
        untidy = false;
    }

    void forgetTime() {
        lock.forgetTime();
    }

    @Override
    public void close() {
        try {
            lock.release(untidy);
        } finally {
            // Until the last word was written the memory must not be unmapped.
            Reference.reachabilityFence(lock);
        }
    }
}
