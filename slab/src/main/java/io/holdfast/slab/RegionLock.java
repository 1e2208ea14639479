package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_LOCK;

import io.holdfast.Time;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One writer at a time: first among the threads of this JVM, then among the processes of the host.
 *
 * <p>The word in the region names the process that has it. It is taken from a holder only when the kernel says that
 * this process is dead; one that is merely stopped or slow keeps it, however long, since nobody can know what it will
 * write next. Whoever takes it from the dead must repair the region first.
 */
final class RegionLock {

    /** How an attempt ended. */
    enum Attempt {
        TAKEN,
        /** Taken from the dead, or left behind by a failure: repair first. */
        TAKEN_UNTIDY,
        BUSY
    }

    private static final int SPINS = 200;
    /** Two looks at the clock cost a twentieth of a put. */
    private static final int TIMED_ONE_IN = 8;

    private static final long UNTIMED = Long.MIN_VALUE;

    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

    private final Memory memory;
    private final Host host;
    private final Time time;
    private final ReentrantLock local = new ReentrantLock();
    private boolean untidy;
    private long takenAt;
    private long takes;

    RegionLock(Memory memory, Host host, Time time) {
        this.memory = memory;
        this.host = host;
        this.time = time;
    }

    Attempt take(long patienceNanos) {
        if (local.tryLock()) {
            if (memory.opaque(C_LOCK) == 0 && memory.swap(C_LOCK, 0, host.me())) {
                return taken(false);
            }
        } else if (!lockLocally(patienceNanos)) {
            return Attempt.BUSY;
        }
        return takeFromOthers(time.nanoTime() + patienceNanos);
    }

    private boolean lockLocally(long patienceNanos) {
        if (patienceNanos <= 0) {
            return false;
        }
        boolean interrupted = Thread.interrupted();
        long deadline = time.nanoTime() + patienceNanos;
        try {
            while (true) {
                try {
                    return local.tryLock(deadline - time.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private Attempt takeFromOthers(long deadline) {
        boolean done = false;
        try {
            long look = deadline;
            for (int i = 0; ; i++) {
                long holder = memory.acquire(C_LOCK);
                if (holder == 0) {
                    if (memory.swap(C_LOCK, 0, host.me())) {
                        done = true;
                        return taken(false);
                    }
                } else if (holder == host.me() && untidy) {
                    done = true;
                    return taken(true);
                } else {
                    long now = time.nanoTime();
                    boolean late = now - deadline >= 0;
                    if (i == SPINS || late || now - look >= 0) {
                        if (!host.isAlive(holder) && memory.swap(C_LOCK, holder, host.me())) {
                            Counter.THEFTS.add(memory, 1);
                            done = true;
                            return taken(true);
                        }
                        look = now + LOOK_NANOS;
                    }
                    if (late) {
                        return Attempt.BUSY;
                    }
                }
                if (i < SPINS) {
                    Thread.onSpinWait();
                } else {
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            }
        } finally {
            if (!done) {
                local.unlock();
            }
        }
    }

    private Attempt taken(boolean fromTheDead) {
        takenAt = takes++ % TIMED_ONE_IN == 0 ? time.nanoTime() : UNTIMED;
        return fromTheDead || untidy ? Attempt.TAKEN_UNTIDY : Attempt.TAKEN;
    }

    /** Does not count this hold among the longest: an audit is asked for by people. */
    void forgetHold() {
        takenAt = UNTIMED;
    }

    /** Notes that the region must be repaired by whoever of this JVM has the lock next. */
    void leaveUntidy() {
        untidy = true;
    }

    void tidied() {
        untidy = false;
    }

    void release() {
        if (takenAt != UNTIMED) {
            Counter.LONGEST_HOLD_NANOS.raise(memory, time.nanoTime() - takenAt);
        }
        if (!untidy) {
            memory.release(C_LOCK, 0);
        }
        local.unlock();
    }

    /** Whether the lock is in the hands of a process that will never give it back. */
    boolean isHeldByTheDead() {
        long holder = memory.opaque(C_LOCK);
        return holder != 0 && !host.isAlive(holder);
    }
}
