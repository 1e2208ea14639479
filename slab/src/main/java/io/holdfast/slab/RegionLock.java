package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_HOLDS;
import static io.holdfast.slab.SlabLayout.C_HUNGRY;
import static io.holdfast.slab.SlabLayout.C_LOCK;

import io.holdfast.Time;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One writer at a time, among all threads of all processes of the host.
 *
 * <ol>
 *   <li>The word in the region names the process that holds the lock. It is taken from a process only when the kernel
 *       says that this process is dead. A stopped or slow process keeps it: what it will write next is unknown.
 *   <li>Who takes the lock from the dead gets a {@link Hold} that is untidy: the region must be repaired first. An untidy
 *       hold is never released as free; its word becomes {@link #UNTIDY}, and the next process repairs.
 *   <li>No waiter starves. A thread may take a free word past the queue, since handing it over costs a switch of threads;
 *       but not once the first in the queue is hungry: has waited for a quarter of its timeout, in this process or
 *       another. The first in the queue gives up only after it was hungry for that long, so that a thread which the
 *       system did not let run is not refused for that.
 * </ol>
 *
 * <p>Threads of one JVM compete for the same word: a thread that finds its own process there waits for another thread. So
 * a put that meets no other does one atomic operation, at its begin; the end is a plain store in order. Of the threads
 * that wait in a JVM, one polls and the others queue behind it, first come, first served.
 */
final class RegionLock {

    /** In place of a process: free to be taken, and to be repaired first. No process has this name, its pid would be 0. */
    static final long UNTIDY = 1;

    /** Polls between two pauses. */
    private static final int SPINS = 64;
    /** Two looks at the clock cost a twentieth of a put. */
    private static final int TIMED_ONE_IN = 8;

    /** Calls in a row, of the smallest kind, that take more stack than waiting does. */
    private static final int FRAMES_NEEDED = 256;

    private static final long UNTIMED = Long.MIN_VALUE;
    private static final long NEVER = Long.MIN_VALUE;

    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(50);
    private static final long HUNGRY_AFTER_MOST = TimeUnit.MILLISECONDS.toNanos(50);

    private final Memory memory;
    private final Life life;
    private final Time time;
    private final ReentrantLock queue = new ReentrantLock(true);
    /**
     * The thread of this JVM that holds the lock. Written without a call between it and the atomic operation: a stack that
     * overflows right after the lock was taken is then found by the thread itself, or by others once the thread has ended.
     */
    private @Nullable Thread owner;

    // These are for the thread that has the lock.
    private long takenAt;
    private long takes;

    RegionLock(Memory memory, Life life, Time time) {
        this.memory = memory;
        this.life = life;
        this.time = time;
    }

    /** Null if the lock could not be had within the time. */
    @Nullable
    Hold take(long patienceNanos) {
        Thread thread = Thread.currentThread();
        if (memory.opaque(C_LOCK) == 0 && memory.opaque(C_HUNGRY) == 0 && memory.swap(C_LOCK, 0, life.me())) {
            owner = thread;
            return taken(false);
        }
        if (patienceNanos <= 0) {
            return null;
        }
        needStack(FRAMES_NEEDED);
        // An interrupt is for the caller: it must not turn the waiting into spinning.
        boolean interrupted = Thread.interrupted();
        try {
            long arrived = time.nanoTime();
            return awaitTurn(arrived + patienceNanos) ? takeInTurn(thread, arrived, patienceNanos) : null;
        } finally {
            leaveQueue();
            if (interrupted) {
                thread.interrupt();
            }
        }
    }

    /** A stack that is going to end shall do so here, and not where giving a place in the queue back needs a call. */
    private static void needStack(int frames) {
        if (frames > 0) {
            needStack(frames - 1);
        }
    }

    /** Not where the place in the queue is used: a stack that ends between getting it and using it must not keep it. */
    private void leaveQueue() {
        while (queue.isHeldByCurrentThread()) {
            queue.unlock();
        }
    }

    private boolean awaitTurn(long deadline) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return queue.tryLock(deadline - time.nanoTime(), TimeUnit.NANOSECONDS);
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

    private @Nullable Hold takeInTurn(Thread thread, long arrived, long patience) {
        long me = life.me();
        long hungryAfter = Math.min(patience / 4, HUNGRY_AFTER_MOST);
        long hungrySince = NEVER;
        try {
            long look = time.nanoTime() + LOOK_NANOS;
            for (int i = 1; ; i++) {
                long holder = memory.acquire(C_LOCK);
                if (holder == 0 || holder == UNTIDY) {
                    if (memory.swap(C_LOCK, holder, me)) {
                        owner = thread;
                        return taken(holder == UNTIDY);
                    }
                } else if (holder == me && isAbandonedBy(owner, thread)) {
                    owner = thread;
                    return taken(true);
                }
                if (i % SPINS != 0) {
                    Thread.onSpinWait();
                    continue;
                }
                long now = time.nanoTime();
                if (hungrySince == NEVER && now - arrived >= hungryAfter) {
                    hungrySince = now;
                }
                boolean late = now - arrived >= patience && now - hungrySince >= hungryAfter;
                if (holder != 0 && holder != UNTIDY && (late || now - look >= 0)) {
                    if (!life.isAlive(holder) && memory.swap(C_LOCK, holder, me)) {
                        owner = thread;
                        Counter.THEFTS.add(memory, 1);
                        return taken(true);
                    }
                    look = now + LOOK_NANOS;
                }
                if (late) {
                    return null;
                }
                if (hungrySince != NEVER) {
                    memory.opaque(C_HUNGRY, me);
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        } finally {
            // Also of a process that died hungry. One that still waits says so again at its next poll.
            if (memory.opaque(C_HUNGRY) != 0) {
                memory.opaque(C_HUNGRY, 0);
            }
        }
    }

    /** The lock does not nest: a thread that finds itself as owner, or an owner that has ended, never got to release it. */
    private static boolean isAbandonedBy(@Nullable Thread owner, Thread thread) {
        return owner != null && (owner.equals(thread) || !owner.isAlive());
    }

    private Hold taken(boolean untidy) {
        memory.word(C_HOLDS, memory.word(C_HOLDS) + 1);
        takenAt = takes++ % TIMED_ONE_IN == 0 ? time.nanoTime() : UNTIMED;
        return new Hold(this, untidy);
    }

    /** Does not count this hold among the longest: an audit is asked for by people. */
    void forgetTime() {
        takenAt = UNTIMED;
    }

    /** Frees the lock, unless it was taken over: by a call within a hold of the same thread. */
    void release(boolean untidy) {
        if (!Thread.currentThread().equals(owner)) {
            return;
        }
        try {
            if (takenAt != UNTIMED) {
                Counter.LONGEST_HOLD_NANOS.raise(memory, time.nanoTime() - takenAt);
            }
        } finally {
            owner = null;
            memory.release(C_LOCK, untidy ? UNTIDY : 0);
        }
    }

    /** Gives back a lock that this thread took and got no {@link Hold} for, because heap or stack ended on the way. */
    void abandon() {
        leaveQueue();
        if (Thread.currentThread().equals(owner)) {
            takenAt = UNTIMED;
            release(true);
        }
    }

    /** Whether the lock is in the hands of a process that will never give it back. */
    boolean isHeldByTheDead() {
        long holder = memory.opaque(C_LOCK);
        return holder == UNTIDY || (holder != 0 && !life.isAlive(holder));
    }
}
