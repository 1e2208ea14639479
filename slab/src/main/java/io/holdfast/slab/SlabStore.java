package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_RESERVED;
import static io.holdfast.slab.SlabLayout.C_UNVERIFIED;
import static io.holdfast.slab.SlabLayout.C_VERSION;

import io.holdfast.Time;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One shard in memory, file or no file: what {@link SlabCache} promises is kept here, under the shard's lock. */
final class SlabStore {

    /** Any version will do. */
    static final long ANY = -1;
    /** Any version will do, but there must be one. */
    static final long PRESENT = -2;

    private static final long AUDITED_AT_ONCE = 32 << 20;
    private static final long VERIFIED_A_STEP = 1 << 20;
    private static final long OPEN_WITHIN = TimeUnit.SECONDS.toNanos(10);

    final Memory memory;
    final SlabLayout layout;
    final Mutations mutations;
    final Namespaces namespaces;
    final Processes processes;
    final Loads loads;
    final Reads reads;
    private final CriticalSection section;
    private final Puts puts;
    private final Recency recency;
    private final Time time;
    private final Probe probe;
    private final long patience;
    private Verification verification;
    private int reclaimUnit;
    private int reclaimChunk;

    /** A store of one shard. */
    SlabStore(Memory memory, SlabLayout layout, long hashSeed, Life life, Time time, Probe probe, long patience) {
        this(memory, memory, layout, hashSeed, life, time, probe, patience);
    }

    /**
     * @param names memory of the first shard, which has the names of namespaces
     * @param patience how long calls wait for the lock that say nothing else, in nanoseconds
     */
    SlabStore(
            Memory memory,
            Memory names,
            SlabLayout layout,
            long hashSeed,
            Life life,
            Time time,
            Probe probe,
            long patience) {
        this.memory = memory;
        this.layout = layout;
        this.time = time;
        this.probe = probe;
        this.mutations = new Mutations(memory, layout, hashSeed, probe);
        this.namespaces = new Namespaces(memory, names, layout);
        this.patience = patience;
        this.verification = new Verification(mutations);
        this.processes = new Processes(memory, layout, life);
        this.loads = new Loads(memory, layout, life);
        this.section = new CriticalSection(mutations, loads, processes, new RegionLock(memory, life, time), probe);
        this.recency = layout.preset == Preset.SEED ? new Recency.Ring(mutations) : new Recency.Marks(memory, layout);
        this.reads = new Reads(mutations, namespaces, recency, processes, time, section);
        Eviction eviction = recency instanceof Recency.Marks marks
                ? new AdaptiveEviction(mutations, marks, reads::isGone)
                : new SeedEviction(mutations);
        this.puts = new Puts(mutations, section, reads, recency, eviction, loads, processes, time);
    }

    /** Makes a zeroed region an empty one. */
    static void format(Memory memory, SlabLayout layout, long version) {
        new Mutations(memory, layout, 0, Probe.NONE).pages.format();
        memory.word(C_VERSION, version);
        memory.word(SlabLayout.C_EPOCH, 1);
    }

    /** Higher than all versions of a file that was created before, unless it was given a thousand a microsecond. */
    static long firstVersion(long nowMillis) {
        return nowMillis << 20;
    }

    /**
     * Joins the processes of the region. The first, if none of the others lives, cannot know that the file was not damaged
     * since: it audits a small region at once, and of a large one makes gets check each value until {@link #verify} has
     * checked all of them, so that others can join meanwhile.
     */
    void attach() {
        section.run("open", Math.max(patience, OPEN_WITHIN), (hold, version) -> {
            if (!processes.anyAlive()) {
                if (layout.dataBytes() <= AUDITED_AT_ONCE) {
                    AuditReport report = new SlabAudit(mutations).run();
                    if (!report.isClean()) {
                        section.salvage(report.problems().getFirst());
                    }
                    memory.release(C_UNVERIFIED, 0);
                } else {
                    memory.release(C_UNVERIFIED, 1);
                }
            }
            processes.attach(time.millis());
            hold.forgetTime();
            return hold;
        });
    }

    /** Leaves the processes of the region; calls that come later, or wait now, are refused. */
    void detach() {
        Hold hold = section.enter(patience);
        section.end();
        if (hold != null) {
            try {
                processes.detach();
            } finally {
                hold.close();
            }
        }
    }

    PutResult put(int namespace, byte[] key, byte[] value, long ttlNanos, boolean mayEvict, long expected) {
        Puts.Request request = new Puts.Request(namespace, key, value, ttlNanos, mayEvict, expected, null);
        return put(mutations.items.hash(namespace, key), request, patience);
    }

    /** @param hash of the request's namespace and key */
    PutResult put(long hash, Puts.Request request, long patienceNanos) {
        return puts.put(hash, request, patienceNanos);
    }

    Removal remove(int namespace, byte[] key, long expected) {
        return remove(mutations.items.hash(namespace, key), namespace, key, expected, patience);
    }

    /** RETRY if the lock cannot be had: an invalidation must not get lost in silence. */
    Removal remove(long hash, int namespace, byte[] key, long expected, long patienceNanos) {
        return section.run("remove", patienceNanos, (hold, version) -> removeLocked(hash, namespace, key, expected));
    }

    private Removal removeLocked(long hash, int namespace, byte[] key, long expected) {
        recency.apply();
        long found = mutations.index.find(hash, namespace, key);
        boolean gone = found == 0 || reads.isGone(found);
        if (expected != ANY && (gone || mutations.items.version(found) != expected)) {
            return Removal.ABSENT;
        }
        loads.voidKey(hash);
        if (found != 0) {
            mutations.unlink(found, true);
            probe.at(Probe.Point.REMOVE_UNLINKED);
            mutations.pages.freeReserved(true);
        }
        if (!gone) {
            Counter.REMOVED.add(memory, 1);
            processes.removed();
        }
        probe.at(Probe.Point.DONE);
        return gone ? Removal.ABSENT : Removal.REMOVED;
    }

    void clear(int namespace) {
        clear(namespace, patience);
    }

    void clear(int namespace, long patienceNanos) {
        section.run("clear", patienceNanos, (hold, version) -> {
            namespaces.clear(namespace, version);
            loads.voidNamespace(namespace);
            return hold;
        });
    }

    /** Of the first shard only. */
    int createNamespace(String name, long patienceNanos) {
        return section.run("namespace", patienceNanos, (hold, version) -> namespaces.findOrCreate(name));
    }

    /**
     * What came of an attempt to load a key.
     *
     * @param lease the right to load it and to store what comes; null if there is none
     * @param elsewhere whether another thread or process is loading it: its value is worth waiting for
     */
    record LoadStart(@Nullable LoadLease lease, boolean elsewhere) {}

    LoadStart beginLoad(int namespace, byte[] key) {
        return beginLoad(mutations.items.hash(namespace, key), namespace, patience);
    }

    /** Neither a lease nor elsewhere if the lock cannot be had, or too many loads are pending. */
    LoadStart beginLoad(long hash, int namespace, long patienceNanos) {
        Set<Long> dead = Set.of();
        while (true) {
            Loads.Attempt attempt = attemptLoad(hash, namespace, dead, patienceNanos);
            if (attempt == null) {
                return new LoadStart(null, false);
            }
            if (attempt.entry() != 0) {
                return new LoadStart(new LoadLease(loads, attempt.entry()), false);
            }
            if (!dead.isEmpty()) {
                return new LoadStart(null, attempt.loader() != 0);
            }
            dead = loads.deadLoaders();
            if (dead.isEmpty()) {
                return new LoadStart(null, attempt.loader() != 0);
            }
        }
    }

    private Loads.@Nullable Attempt attemptLoad(long hash, int namespace, Set<Long> dead, long patienceNanos) {
        Hold hold = section.enter(patienceNanos);
        if (hold == null) {
            return null;
        }
        try {
            loads.drop(dead);
            return loads.begin(hash, namespace, mutations.nextVersion());
        } catch (Throwable t) {
            throw section.failed(hold, t);
        } finally {
            hold.close();
        }
    }

    AuditReport audit() {
        return section.run("audit", patience, (hold, version) -> {
            AuditReport report = new SlabAudit(mutations).run();
            if (report.isClean()) {
                memory.release(C_UNVERIFIED, 0);
            }
            hold.forgetTime();
            return report;
        });
    }

    boolean isUnverified() {
        return memory.acquire(C_UNVERIFIED) != 0;
    }

    /** Checks some of the values that no process watched over; salvages if one of them, or a table, is wrong. */
    void verify() {
        try {
            section.run("verify", patience, (hold, version) -> {
                if (memory.word(C_UNVERIFIED) != 0 && verification.step(VERIFIED_A_STEP)) {
                    memory.release(C_UNVERIFIED, 0);
                }
                return hold;
            });
        } finally {
            if (!isUnverified()) {
                verification = new Verification(mutations);
            }
        }
    }

    /** Takes back the room of values that lapsed or were cleared, looking at so many chunks; how many there were. */
    int reclaimGone(int chunksMost) {
        return section.run("reclaim", patience, (hold, version) -> {
            int reclaimed = 0;
            int looked = 0;
            while (looked < chunksMost) {
                if (reclaimUnit >= layout.units) {
                    reclaimUnit = 0;
                    reclaimChunk = 0;
                }
                long state = mutations.pages.state(reclaimUnit);
                int chunks = Pages.kind(state) == Pages.CUT ? Pages.carved(state) : 1;
                if (reclaimChunk >= chunks) {
                    reclaimUnit += areaLengthOrOne(reclaimUnit);
                    reclaimChunk = 0;
                } else {
                    reclaimed += reclaimGoneAt(reclaimUnit, state, reclaimChunk++) ? 1 : 0;
                }
                looked++;
            }
            Counter.LAPSED.add(memory, reclaimed);
            return reclaimed;
        });
    }

    /** Areas change between two steps: from the middle of one the next is found unit by unit. */
    private int areaLengthOrOne(int unit) {
        int kind = Pages.kind(mutations.pages.state(unit));
        return kind == Pages.FREE || kind == Pages.RUN || kind == Pages.CUT ? mutations.pages.areaLength(unit) : 1;
    }

    private boolean reclaimGoneAt(int unit, long state, int chunk) {
        boolean cut = Pages.kind(state) == Pages.CUT;
        if (!cut && Pages.kind(state) != Pages.RUN) {
            return false;
        }
        long offset = layout.unitStart(unit);
        offset += cut ? chunk * mutations.pages.room(offset) : 0;
        if (mutations.items.checksum(offset) == 0 || !reads.isGone(offset)) {
            return false;
        }
        mutations.unlink(offset, true);
        mutations.pages.freeReserved(true);
        return true;
    }

    /** Applies what readers noted, if the lock is to be had at once. */
    void applyTouchesIfPressing() {
        if (!recency.isPressing()) {
            return;
        }
        Hold hold = section.enter(0);
        if (hold != null) {
            try {
                recency.apply();
            } catch (Throwable t) {
                throw section.failed(hold, t);
            } finally {
                hold.close();
            }
        }
    }

    /** Whether a mutation is under way that has reserved a chunk; for tests. */
    boolean hasReserved() {
        return memory.word(C_RESERVED) != 0 || memory.word(SlabLayout.C_REWRITING) != 0;
    }
}
