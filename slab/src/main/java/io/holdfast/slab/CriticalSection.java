package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_DAMAGED;
import static io.holdfast.slab.SlabLayout.C_VERSION;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.lang.System.Logger.Level;
import java.lang.ref.Reference;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The part of a call that holds the region's lock. Whoever enters finds the region in order, and whoever leaves has left
 * it so: what a dead process or a failed call left half done is repaired, and what makes no sense is salvaged, before
 * anybody goes on.
 */
final class CriticalSection {

    private static final System.Logger LOG = System.getLogger(SlabStore.class.getName());

    private final Memory memory;
    private final Mutations mutations;
    private final Loads loads;
    private final Processes processes;
    private final RegionLock lock;
    private final Probe probe;
    private final long patienceNanos;
    private volatile boolean ended;

    CriticalSection(
            Mutations mutations, Loads loads, Processes processes, RegionLock lock, Probe probe, long patienceNanos) {
        this.memory = mutations.memory;
        this.mutations = mutations;
        this.loads = loads;
        this.processes = processes;
        this.lock = lock;
        this.probe = probe;
        this.patienceNanos = patienceNanos;
    }

    /** False if another process kept the lock for longer than one is willing to wait. */
    boolean enter() {
        return enter(patienceNanos);
    }

    boolean enterAtOnce() {
        return enter(0);
    }

    private boolean enter(long patience) {
        RegionLock.Attempt attempt = lock.take(patience);
        if (attempt == RegionLock.Attempt.BUSY) {
            return false;
        }
        if (ended) {
            leave();
            throw HoldfastException.misuse("the cache is closed", "open it again");
        }
        if (attempt == RegionLock.Attempt.TAKEN_UNTIDY) {
            tidy();
        }
        try {
            probe.at(Probe.Point.LOCKED);
        } catch (Throwable t) {
            leave();
            throw t;
        }
        return true;
    }

    void leave() {
        try {
            lock.release();
        } finally {
            // Until the last word was written the memory must not be unmapped.
            Reference.reachabilityFence(memory);
        }
    }

    /** Nobody of this JVM enters any more. */
    void end() {
        ended = true;
    }

    /** Does not count this hold among the longest: an audit is asked for by people. */
    void forgetHold() {
        lock.forgetHold();
    }

    /** Does the work inside; it is given the region's version. */
    long run(String what, LongUnaryOperator work) {
        if (!enter()) {
            throw busy(what);
        }
        try {
            return work.applyAsLong(memory.word(C_VERSION));
        } catch (HoldfastException e) {
            if (e.category() == Category.CORRUPT) {
                throw failed(e);
            }
            throw e;
        } catch (Throwable t) {
            throw failed(t);
        } finally {
            leave();
        }
    }

    static HoldfastException busy(String what) {
        return new HoldfastException(
                Category.RETRY, "BUSY: another process holds the cache's lock; '" + what + "' was not done");
    }

    /** A reader found a line shut for long: if its writer is dead, somebody has to repair, and nobody may come. */
    void unblock() {
        if (lock.isHeldByTheDead() && enter()) {
            leave();
        }
    }

    private void tidy() {
        lock.leaveUntidy();
        try {
            repair();
            lock.tidied();
        } catch (Throwable t) {
            leave();
            throw t;
        }
    }

    /** Repairs after a failure inside; the failure goes on. */
    RuntimeException failed(Throwable t) {
        lock.leaveUntidy();
        mutations.takeEvicted();
        try {
            if (t instanceof HoldfastException e && e.category() == Category.CORRUPT) {
                salvage(e.getMessage());
            } else {
                repair();
            }
            lock.tidied();
        } catch (Throwable again) {
            t.addSuppressed(again);
        }
        if (t instanceof Error error) {
            throw error;
        }
        return t instanceof RuntimeException e ? e : new IllegalStateException(t);
    }

    private void repair() {
        if (memory.word(C_DAMAGED) != 0) {
            salvage("unfinished before");
            return;
        }
        try {
            mutations.repair();
            loads.repair();
            processes.releaseDead();
            Counter.REPAIRS.add(memory, 1);
        } catch (HoldfastException e) {
            salvage(e.getMessage());
        }
    }

    /** Rebuilds the tables from the values. Only inside. */
    void salvage(@Nullable String why) {
        LOG.log(Level.WARNING, "salvaging a slab cache: {0}", why);
        new Salvage(mutations).run();
        loads.repair();
        processes.releaseDead();
    }
}
