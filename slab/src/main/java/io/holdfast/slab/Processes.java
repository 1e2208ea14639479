package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The processes that have the region open, and what each of them did.
 *
 * <pre>
 *  +0    process (see Life), 0: entry is free
 *  +8    attached at, wall clock in milliseconds
 *  +16   values stored, +24 values removed           under the lock
 *  +64   sixteen lines of hits, misses               without it, threads spread over the lines
 * </pre>
 */
final class Processes {

    static final int SAMPLED_ONE_IN = 64;
    private static final int STRIPES = 16;

    private final Memory memory;
    private final SlabLayout layout;
    private final Life life;
    private long mine;

    Processes(Memory memory, SlabLayout layout, Life life) {
        this.memory = memory;
        this.layout = layout;
        this.life = life;
    }

    private long at(int entry) {
        return layout.processesAt + (long) entry * SlabLayout.PROCESS_BYTES;
    }

    /** Whether any process of the table lives. Only under the lock. */
    boolean anyAlive() {
        for (int i = 0; i < SlabLayout.PROCESSES; i++) {
            long process = memory.word(at(i));
            if (process != 0 && life.isAlive(process)) {
                return true;
            }
        }
        return false;
    }

    /** Takes an entry. Only under the lock. */
    void attach(long nowMillis) {
        releaseDead();
        for (int i = 0; i < SlabLayout.PROCESSES; i++) {
            if (memory.word(at(i)) == 0) {
                mine = at(i);
                memory.word(mine + 8, nowMillis);
                memory.release(mine, life.me());
                return;
            }
        }
        throw new HoldfastException(
                Category.FULL,
                "the cache is open in " + SlabLayout.PROCESSES + " processes already",
                "close it in one of them",
                null);
    }

    /** Frees the entries of the dead. Only under the lock. */
    void releaseDead() {
        for (int i = 0; i < SlabLayout.PROCESSES; i++) {
            long process = memory.word(at(i));
            if (process != 0 && !life.isAlive(process)) {
                release(at(i));
            }
        }
    }

    void detach() {
        if (mine != 0 && memory.word(mine) == life.me()) {
            release(mine);
        }
    }

    private void release(long entry) {
        Counter.PAST_STORED.add(memory, memory.word(entry + 16));
        Counter.PAST_REMOVED.add(memory, memory.word(entry + 24));
        Counter.PAST_HITS.add(memory, sum(entry, 0));
        Counter.PAST_MISSES.add(memory, sum(entry, 8));
        memory.zero(entry + 8, SlabLayout.PROCESS_BYTES - 8);
        memory.release(entry, 0);
    }

    private long sum(long entry, int counter) {
        long sum = 0;
        for (int i = 1; i <= STRIPES; i++) {
            sum += memory.opaque(entry + i * 64L + counter);
        }
        return sum;
    }

    private long stripe() {
        return mine + 64 + (Thread.currentThread().threadId() & (STRIPES - 1)) * 64;
    }

    /**
     * Not atomic: two threads of the same line that count at the same instant count one. An atomic one would wait for
     * all stores of the copy that was just made, and cost a seventh of a get.
     */
    private long count(long at) {
        long counted = memory.opaque(at) + 1;
        memory.opaque(at, counted);
        return counted;
    }

    /** False for those who only look: they count nowhere. */
    boolean isAttached() {
        return mine != 0;
    }

    /** True one time in {@link #SAMPLED_ONE_IN}, for what is too dear to be counted each time. */
    boolean hit() {
        return count(stripe()) % SAMPLED_ONE_IN == 0;
    }

    void missed() {
        if (mine == 0) {
            return;
        }
        count(stripe() + 8);
    }

    /** Only under the lock. */
    void stored() {
        memory.word(mine + 16, memory.word(mine + 16) + 1);
    }

    /** Only under the lock. */
    void removed() {
        memory.word(mine + 24, memory.word(mine + 24) + 1);
    }

    Map<Long, SlabStats.AttachedProcess> byName() {
        Map<Long, SlabStats.AttachedProcess> processes = new LinkedHashMap<>();
        for (int i = 0; i < SlabLayout.PROCESSES; i++) {
            long process = memory.acquire(at(i));
            if (process != 0) {
                processes.put(
                        process,
                        new SlabStats.AttachedProcess(
                                Life.pidOf(process),
                                life.isAlive(process),
                                Instant.ofEpochMilli(memory.opaque(at(i) + 8)),
                                sum(at(i), 0),
                                sum(at(i), 8),
                                memory.opaque(at(i) + 16),
                                memory.opaque(at(i) + 24)));
            }
        }
        return processes;
    }
}
