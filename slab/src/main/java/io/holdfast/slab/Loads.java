package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_LOADS;

import java.util.HashSet;
import java.util.Set;

/**
 * Which keys are being loaded for the whole host. A put, remove or clear voids the loads of its keys: what a loader brings
 * afterwards is older than that and is not stored. Only under the region's lock, except for the end of a {@link LoadLease},
 * which must not depend on it.
 *
 * <pre>
 *  +0  hash of namespace and key    two keys with one hash wait for each other, and no more
 *  +8  process of the loader, 0: entry is free
 *  +16 token
 *  +24 namespace | voided (1) at 32
 * </pre>
 *
 * C_LOADS is 0 only if no entry is in use, so that most puts need not look. It is set before an entry is, and cleared by a
 * put that has met none in use: both under the lock.
 */
final class Loads {

    private static final long VOIDED = 1L << 32;

    private final Memory memory;
    private final SlabLayout layout;
    private final Life life;

    Loads(Memory memory, SlabLayout layout, Life life) {
        this.memory = memory;
        this.layout = layout;
        this.life = life;
    }

    /**
     * How an attempt to load went.
     *
     * @param entry of the load that this process may now do; 0 if it may not
     * @param loader the process that loads the key already; 0 if all entries are in use
     */
    record Attempt(long entry, long loader) {}

    private long at(int entry) {
        return layout.loadsAt + (long) entry * SlabLayout.LOAD_BYTES;
    }

    Attempt begin(long hash, int namespace, long token) {
        long free = 0;
        for (int i = 0; i < SlabLayout.LOADS; i++) {
            long process = memory.word(at(i) + 8);
            if (process == 0) {
                free = free == 0 ? at(i) : free;
            } else if (memory.word(at(i)) == hash && (memory.word(at(i) + 24) & VOIDED) == 0) {
                return new Attempt(0, process);
            }
        }
        if (free != 0) {
            memory.word(C_LOADS, 1);
            memory.word(free, hash);
            memory.word(free + 16, token);
            memory.word(free + 24, namespace);
            memory.release(free + 8, life.me());
        }
        return new Attempt(free, 0);
    }

    /** Whether what the load brought may be stored; if so, the load ends. */
    boolean end(LoadLease lease) {
        boolean valid = lease.isPending() && (memory.word(lease.entry() + 24) & VOIDED) == 0;
        lease.close();
        return valid;
    }

    /** Without the lock. */
    void release(long entry) {
        memory.release(entry + 8, 0);
    }

    void voidKey(long hash) {
        if (memory.word(C_LOADS) == 0) {
            return;
        }
        boolean pending = false;
        for (int i = 0; i < SlabLayout.LOADS; i++) {
            if (memory.word(at(i) + 8) != 0) {
                pending = true;
                if (memory.word(at(i)) == hash) {
                    memory.word(at(i) + 24, memory.word(at(i) + 24) | VOIDED);
                }
            }
        }
        if (!pending) {
            memory.word(C_LOADS, 0);
        }
    }

    void voidNamespace(int namespace) {
        for (int i = 0; i < SlabLayout.LOADS; i++) {
            if ((memory.word(at(i) + 24) & 0xff) == namespace) {
                memory.word(at(i) + 24, memory.word(at(i) + 24) | VOIDED);
            }
        }
    }

    /** The dead among all loaders. Needs no lock: asking for signs of life is slow, and the dead stay dead. */
    Set<Long> deadLoaders() {
        Set<Long> loaders = new HashSet<>();
        for (int i = 0; i < SlabLayout.LOADS; i++) {
            loaders.add(memory.acquire(at(i) + 8));
        }
        loaders.removeIf(loader -> loader == 0 || life.isAlive(loader));
        return loaders;
    }

    void drop(Set<Long> dead) {
        for (int i = 0; i < SlabLayout.LOADS; i++) {
            if (dead.contains(memory.word(at(i) + 8))) {
                release(at(i));
            }
        }
    }

    void dropDead() {
        drop(deadLoaders());
    }
}
