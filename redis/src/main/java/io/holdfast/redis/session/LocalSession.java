package io.holdfast.redis.session;

import io.holdfast.HoldfastException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A session as this instance serves it: any number of clients, one hold.
 *
 * <pre>
 *   absent -- first client: acquire --> held -- last client out: release --> absent
 *                                        |  ^
 *                 lease late or store in doubt: lost   asserted again: regained
 * </pre>
 */
final class LocalSession {

    final String id;
    /** Taken for every change and kept during the call to the store, so that those that come meanwhile wait for it. */
    final ReentrantLock lock = new ReentrantLock();

    int clients;
    /** The life in which it is held; 0 if it is not. */
    volatile long epoch;

    volatile boolean lost;
    /** The store has it as ours, as far as this number of doubts goes; see {@link io.holdfast.redis.hold.Holds#doubts}. */
    volatile int sureSince;
    /** The store may have us as a holder though we are none: a call got no answer. */
    boolean unsure;
    /** No longer in the table; whoever still finds it looks again. */
    boolean retired;

    /** Why the last call for it got no answer, and when. */
    @Nullable
    HoldfastException failure;

    long failedNanos;

    LocalSession(String id) {
        this.id = id;
    }

    boolean isHeld() {
        return epoch != 0;
    }
}
