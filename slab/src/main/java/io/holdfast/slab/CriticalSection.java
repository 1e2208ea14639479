package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_DAMAGED;
import static io.holdfast.slab.SlabLayout.C_VERSION;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/**
 * The part of a call that holds the region's lock. A caller that enters finds the region in order: what a dead process or a
 * failed call left half done is repaired, and what makes no sense is salvaged, before {@link #enter} returns, also if it
 * then refuses to go on because the cache is closed.
 */
final class CriticalSection {

    private final Memory memory;
    private final Mutations mutations;
    private final Loads loads;
    private final Processes processes;
    private final RegionLock lock;
    private final Probe probe;
    private volatile boolean ended;

    CriticalSection(Mutations mutations, Loads loads, Processes processes, RegionLock lock, Probe probe) {
        this.memory = mutations.memory;
        this.mutations = mutations;
        this.loads = loads;
        this.processes = processes;
        this.lock = lock;
        this.probe = probe;
    }

    /** Null if another process kept the lock for longer than one is willing to wait. */
    @Nullable
    Hold enter(long patienceNanos) {
        Hold hold;
        try {
            hold = lock.take(patienceNanos);
        } catch (Throwable t) {
            lock.abandon();
            throw t;
        }
        if (hold == null) {
            return null;
        }
        try {
            if (hold.isUntidy()) {
                repair();
                hold.tidied();
            }
            if (ended) {
                throw HoldfastException.misuse("the cache is closed", "open it again");
            }
            probe.at(Probe.Point.LOCKED);
        } catch (Throwable t) {
            hold.close();
            throw t;
        }
        return hold;
    }

    /** From here on calls of this JVM are refused. */
    void end() {
        ended = true;
    }

    /** Work inside the section; it is given the hold and the region's version. */
    @FunctionalInterface
    interface Work<R extends @Nullable Object> {
        R in(Hold hold, long version);
    }

    <R extends @Nullable Object> R run(String what, long patienceNanos, Work<R> work) {
        Hold hold = enter(patienceNanos);
        if (hold == null) {
            throw busy(what);
        }
        try {
            return work.in(hold, memory.word(C_VERSION));
        } catch (Throwable t) {
            throw failed(hold, t);
        } finally {
            hold.close();
        }
    }

    static HoldfastException busy(String what) {
        return new HoldfastException(
                Category.RETRY, "BUSY: another process holds the cache's lock; '" + what + "' was not done");
    }

    /** A reader found a line shut for long: if its writer is dead, the region must be repaired, and no put may come. */
    void unblock(long patienceNanos) {
        if (lock.isHeldByTheDead()) {
            Hold hold = enter(patienceNanos);
            if (hold != null) {
                hold.close();
            }
        }
    }

    /**
     * Brings the region back into order after a failure inside, and returns what to throw: the failure, or RETRY if it came
     * from tables that made no sense and have been rebuilt.
     */
    RuntimeException failed(Hold hold, Throwable failure) {
        hold.leaveUntidy();
        mutations.takeEvicted();
        boolean damage = isDamage(failure);
        try {
            if (damage) {
                salvage(String.valueOf(failure));
            } else if (!(failure instanceof HoldfastException)) {
                repair();
            }
            hold.tidied();
        } catch (Throwable again) {
            failure.addSuppressed(again);
        }
        if (failure instanceof Error error) {
            throw error;
        }
        if (damage && !hold.isUntidy()) {
            return new HoldfastException(
                    Category.RETRY,
                    "the tables of the cache were damaged and have been rebuilt from its values; the call was not done",
                    failure);
        }
        return failure instanceof RuntimeException e ? e : new IllegalStateException(failure);
    }

    /** Our own code throws no other exceptions on a sound region than those of {@link HoldfastException}. */
    private static boolean isDamage(Throwable t) {
        return t instanceof HoldfastException e ? e.category() == Category.CORRUPT : t instanceof RuntimeException;
    }

    private void repair() {
        if (memory.word(C_DAMAGED) != 0) {
            salvage("unfinished before");
            return;
        }
        try {
            mutations.repair();
            loads.dropDead();
            processes.releaseDead();
            Counter.REPAIRS.add(memory, 1);
        } catch (RuntimeException e) {
            salvage(String.valueOf(e));
        }
    }

    /** Rebuilds the tables from the values. Only inside. */
    void salvage(String why) {
        System.getLogger(SlabStore.class.getName()).log(Level.WARNING, "salvaging a slab cache: {0}", why);
        new Salvage(mutations).run();
        loads.dropDead();
        processes.releaseDead();
    }
}
