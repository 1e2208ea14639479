package io.holdfast.slab;

/** The names of processes that use a region, and which of them live. A name is one word and never used twice. */
interface Life {

    int PID_SHIFT = 40;

    /** What this process is called in the region. */
    long me();

    /** Whether the process of this name can still write to the region. */
    boolean isAlive(long process);

    /** A name: 22 bits of pid above 40 others. */
    static long name(long pid, long others) {
        return (pid & 0x3fffff) << PID_SHIFT | (others & ((1L << PID_SHIFT) - 1));
    }

    /** False for what damage may have left in the place of a name. */
    static boolean isName(long word) {
        return word >>> PID_SHIFT > 0 && word >>> PID_SHIFT <= 0x3fffff;
    }

    /** The pid of a process, as it is seen in its own pid namespace. */
    static int pidOf(long process) {
        return (int) (process >>> PID_SHIFT);
    }
}
