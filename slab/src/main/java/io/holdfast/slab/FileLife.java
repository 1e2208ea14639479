package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;

/**
 * Signs of life by locks on the cache file itself: a process that opens the cache takes a name that no living process has,
 * and locks the byte of that number, far behind the end of the file. The kernel gives the lock back when the last thread of
 * the process has ended, also by kill -9, and shows it to all processes of the host, in whatever container and pid namespace.
 *
 * <p>A name is the pid, for people, and forty random bits. The descriptor is closed by the collector, when no call can be
 * under way any more: a process that lost its sign of life while one of its threads may still take the lock would have
 * the lock taken from it.
 */
final class FileLife implements Life {

    private static final int TRIES_MOST = 1_000;

    private final Descriptor descriptor;
    private final long me;
    /** Kept for its end, which closes the descriptor. */
    @SuppressWarnings({"unused", "UnusedVariable"})
    private final MemorySegment kept;

    /** Takes over the descriptor. */
    FileLife(Descriptor descriptor) {
        this(descriptor, lockedName(descriptor));
    }

    private FileLife(Descriptor descriptor, long me) {
        this.descriptor = descriptor;
        this.kept = MemorySegment.ofAddress(1).reinterpret(1, Arena.ofAuto(), ended -> descriptor.close());
        this.me = me;
    }

    /** Knows who lives, and shows no sign of life itself. Takes over the descriptor. */
    static FileLife watching(Descriptor descriptor) {
        return new FileLife(descriptor, 0);
    }

    private static long lockedName(Descriptor descriptor) {
        SplittableRandom random = new SplittableRandom();
        long pid = SystemCall.GETPID.call(0, 0, 0);
        for (int i = 0; i < TRIES_MOST; i++) {
            long name = Life.name(pid, random.nextLong());
            if (descriptor.tryLock(name)) {
                return name;
            }
        }
        throw new HoldfastException(Category.RETRY, "no byte of the cache file could be locked as a sign of life");
    }

    @Override
    public long me() {
        return me;
    }

    @Override
    public boolean isAlive(long process) {
        return Life.isName(process) && (process == me || descriptor.isLockedElsewhere(process));
    }
}
