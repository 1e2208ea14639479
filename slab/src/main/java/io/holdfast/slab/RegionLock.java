package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_LOCK;

import io.holdfast.Time;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One writer at a time, among all threads of all processes of the host.
 *
 * <p>The word in the region names the process that has it. It is taken from a holder only when the kernel says that
 * this process is dead; one that is merely stopped or slow keeps it, however long, since nobody can know what it will
 * write next. Whoever takes it from the dead must repair the region first.
 *
 * <p>Threads of one JVM compete for the same word: who finds the name of its own process there waits for another thread.
 * So a put that meets nobody does one atomic operation, at its begin; the end is a plain store in order, and the next
 * put need not wait until all that this one wrote has left the processor. Of the threads that wait in a JVM, one looks
 * and the others queue behind it.
 */
final class RegionLock {

    /** How an attempt ended. */
    enum Attempt {
        TAKEN,
        /** Taken from the dead, or left behind by a failure: repair first. */
        TAKEN_UNTIDY,
        BUSY
    }

    /** Looks between two pauses. */
    private static final int SPINS = 64;
    /** Two looks at the clock cost a twentieth of a put. */
    private static final int TIMED_ONE_IN = 8;

    private static final long UNTIMED = Long.MIN_VALUE;

    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

    private final Memory memory;
    private final Host host;
    private final Time time;
    private final ReentrantLock turn = new ReentrantLock();
    /** The word names this process, and no thread of it is inside: the one who was could not repair what it left. */
    private final AtomicBoolean abandoned = new AtomicBoolean();

    // These are for the thread that has the lock.
    private boolean untidy;

    private long takenAt;
    private long takes;

    RegionLock(Memory memory, Host host, Time time) {
        this.memory = memory;
        this.host = host;
        this.time = time;
    }

    Attempt take(long patienceNanos) {
        if (memory.opaque(C_LOCK) == 0 && memory.swap(C_LOCK, 0, host.me())) {
            return taken(false);
        }
        if (patienceNanos <= 0) {
            return Attempt.BUSY;
        }
        // An interrupt is for the caller: it must not turn the waiting into spinning.
        boolean interrupted = Thread.interrupted();
        try {
            long deadline = time.nanoTime() + patienceNanos;
            return awaitTurn(deadline) ? takeInTurn(deadline) : Attempt.BUSY;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private boolean awaitTurn(long deadline) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return turn.tryLock(deadline - time.nanoTime(), TimeUnit.NANOSECONDS);
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

    private Attempt takeInTurn(long deadline) {
        try {
            long look = time.nanoTime();
            for (int i = 1; ; i++) {
                long holder = memory.opaque(C_LOCK);
                if (holder == 0) {
                    if (memory.swap(C_LOCK, 0, host.me())) {
                        return taken(false);
                    }
                } else if (holder == host.me() && abandoned.compareAndSet(true, false)) {
                    return taken(true);
                }
                if (i % SPINS != 0) {
                    Thread.onSpinWait();
                    continue;
                }
                long now = time.nanoTime();
                boolean late = now - deadline >= 0;
                if (holder != 0 && (late || now - look >= 0)) {
                    if (!host.isAlive(holder) && memory.swap(C_LOCK, holder, host.me())) {
                        Counter.THEFTS.add(memory, 1);
                        return taken(true);
                    }
                    look = now + LOOK_NANOS;
                }
                if (late) {
                    return Attempt.BUSY;
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        } finally {
            turn.unlock();
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
        if (untidy) {
            abandoned.set(true);
        } else {
            memory.release(C_LOCK, 0);
        }
    }

    /** Whether the lock is in the hands of a process that will never give it back. */
    boolean isHeldByTheDead() {
        long holder = memory.opaque(C_LOCK);
        return holder != 0 && !host.isAlive(holder);
    }
}
