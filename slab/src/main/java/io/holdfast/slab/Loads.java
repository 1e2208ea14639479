package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_LOADS;

/**
 * Who is loading which key for the whole host. A put, remove or clear voids the loads of its keys: what a loader brings
 * afterwards is older than that and is not stored. Only under the region's lock.
 *
 * <pre>
 *  +0  hash of namespace and key    two keys with one hash wait for each other, and no more
 *  +8  process of the loader, 0: entry is free
 *  +16 token
 *  +24 namespace | voided (1) at 32
 * </pre>
 */
final class Loads {

    private static final long VOIDED = 1L << 32;

    private final Memory memory;
    private final SlabLayout layout;
    private final Host host;

    Loads(Memory memory, SlabLayout layout, Host host) {
        this.memory = memory;
        this.layout = layout;
        this.host = host;
    }

    private long at(int entry) {
        return layout.loadsAt + (long) entry * SlabLayout.LOAD_BYTES;
    }

    /** Starts a load; 0 if somebody who lives is loading the key already, or too many loads are under way. */
    long begin(long hash, int namespace, long token) {
        long free = 0;
        for (int i = 0; i < SlabLayout.LOADS; i++) {
            long process = memory.word(at(i) + 8);
            if (process != 0 && memory.word(at(i)) == hash && (memory.word(at(i) + 24) & VOIDED) == 0) {
                if (host.isAlive(process)) {
                    return 0;
                }
                drop(at(i));
                process = 0;
            }
            if (process == 0 && free == 0) {
                free = at(i);
            }
        }
        if (free == 0) {
            return 0;
        }
        memory.word(free, hash);
        memory.word(free + 16, token);
        memory.word(free + 24, namespace);
        memory.word(free + 8, host.me());
        memory.word(C_LOADS, memory.word(C_LOADS) + 1);
        return token;
    }

    /** Ends the load; whether what it brought may be stored. */
    boolean end(long hash, long token) {
        for (int i = 0; i < SlabLayout.LOADS; i++) {
            if (memory.word(at(i) + 8) == host.me() && memory.word(at(i) + 16) == token && memory.word(at(i)) == hash) {
                boolean valid = (memory.word(at(i) + 24) & VOIDED) == 0;
                drop(at(i));
                return valid;
            }
        }
        return false;
    }

    private void drop(long entry) {
        memory.word(entry + 8, 0);
        memory.word(C_LOADS, memory.word(C_LOADS) - 1);
    }

    void voidKey(long hash) {
        for (int i = 0; memory.word(C_LOADS) != 0 && i < SlabLayout.LOADS; i++) {
            if (memory.word(at(i)) == hash) {
                memory.word(at(i) + 24, memory.word(at(i) + 24) | VOIDED);
            }
        }
    }

    void voidNamespace(int namespace) {
        for (int i = 0; i < SlabLayout.LOADS; i++) {
            if ((memory.word(at(i) + 24) & 0xff) == namespace) {
                memory.word(at(i) + 24, memory.word(at(i) + 24) | VOIDED);
            }
        }
    }

    /** Forgets the loads of the dead and counts the others. */
    void repair() {
        int pending = 0;
        for (int i = 0; i < SlabLayout.LOADS; i++) {
            long process = memory.word(at(i) + 8);
            if (process != 0 && host.isAlive(process)) {
                pending++;
            } else {
                memory.word(at(i) + 8, 0);
            }
        }
        memory.word(C_LOADS, pending);
    }
}
