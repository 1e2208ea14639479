package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_RESERVED;
import static io.holdfast.slab.SlabLayout.C_VERSION;

import io.holdfast.Time;

/** A region in memory, file or no file: what {@link SlabCache} promises is kept here, under the region's lock. */
final class SlabStore {

    /** Any version will do. */
    static final long ANY = -1;

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
    private int reclaimCursor;

    SlabStore(Memory memory, SlabLayout layout, long hashSeed, Host host, Time time, Probe probe, long patienceNanos) {
        this.memory = memory;
        this.layout = layout;
        this.time = time;
        this.probe = probe;
        this.mutations = new Mutations(memory, layout, hashSeed, probe);
        this.namespaces = new Namespaces(memory, layout);
        this.processes = new Processes(memory, layout, host);
        this.loads = new Loads(memory, layout, host);
        this.section = new CriticalSection(
                mutations, loads, processes, new RegionLock(memory, host, time), probe, patienceNanos);
        Eviction eviction;
        if (layout.preset == Preset.SEED) {
            this.recency = new Recency.Ring(mutations);
            eviction = new SeedEviction(mutations);
        } else {
            Recency.Marks marks = new Recency.Marks(memory, layout);
            this.recency = marks;
            eviction = new AdaptiveEviction(mutations, marks);
        }
        this.reads = new Reads(mutations, namespaces, recency, processes, time, section::unblock);
        this.puts = new Puts(mutations, section, reads, recency, eviction, loads, processes, time);
    }

    /** Makes a zeroed region an empty one. */
    static void format(Memory memory, SlabLayout layout) {
        new Mutations(memory, layout, 0, Probe.NONE).pages.format();
        memory.word(C_VERSION, 1);
        memory.word(SlabLayout.C_EPOCH, 1);
    }

    /**
     * Joins the processes of the region. Whoever finds none of them alive checks every value and every count first,
     * since nobody can have watched over the file.
     */
    void attach() {
        if (!section.enter()) {
            throw CriticalSection.busy("open");
        }
        try {
            if (!processes.anyAlive()) {
                AuditReport report = new SlabAudit(mutations).run();
                if (!report.isClean()) {
                    section.salvage(report.problems().getFirst());
                }
            }
            processes.attach(time.millis());
            section.forgetHold();
        } catch (Throwable t) {
            throw section.failed(t);
        } finally {
            section.leave();
        }
    }

    /** Leaves the processes of the region; what comes later, or waits now, is refused. */
    void detach() {
        boolean entered = section.enter();
        section.end();
        if (entered) {
            try {
                processes.detach();
            } finally {
                section.leave();
            }
        }
    }

    PutResult put(int namespace, byte[] key, byte[] value, long ttlNanos, boolean mayEvict, long expected) {
        return puts.put(namespace, key, value, ttlNanos, mayEvict, expected, 0);
    }

    /** Stores what a load brought, if nothing voided the load. */
    PutResult putLoaded(int namespace, byte[] key, byte[] value, long load) {
        return puts.put(namespace, key, value, 0, true, ANY, load);
    }

    Removal remove(int namespace, byte[] key, long expected) {
        long hash = mutations.items.hash(namespace, key);
        if (!section.enter()) {
            return Removal.BUSY;
        }
        try {
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
        } catch (Throwable t) {
            throw section.failed(t);
        } finally {
            section.leave();
        }
    }

    void clear(int namespace) {
        section.run("clear", version -> {
            namespaces.clear(namespace, version);
            loads.voidNamespace(namespace);
            return 0;
        });
    }

    int namespace(String name) {
        int found = namespaces.find(name);
        return found >= 0 ? found : (int) section.run("namespace", version -> namespaces.findOrCreate(name));
    }

    /** The token of a load that this process may now do; 0 if another one does it. */
    long beginLoad(int namespace, byte[] key) {
        long hash = mutations.items.hash(namespace, key);
        return section.run("load", version -> {
            memory.word(C_VERSION, version + 1);
            return loads.begin(hash, namespace, version + 1);
        });
    }

    /** Gives up a load that brought nothing. */
    void endLoad(int namespace, byte[] key, long token) {
        long hash = mutations.items.hash(namespace, key);
        section.run("load", version -> loads.end(hash, token) ? 1 : 0);
    }

    AuditReport audit() {
        AuditReport[] report = new AuditReport[1];
        section.run("audit", version -> {
            report[0] = new SlabAudit(mutations).run();
            section.forgetHold();
            return 0;
        });
        return report[0];
    }

    /** Takes back the room of values that lapsed or were cleared, looking at so many pages; how many there were. */
    int reclaimGone(int pagesMost) {
        return (int) section.run("reclaim", version -> {
            int reclaimed = 0;
            for (int i = 0; i < pagesMost; i++) {
                reclaimCursor = reclaimCursor >= layout.pages ? 0 : reclaimCursor;
                reclaimed += reclaimGoneIn(reclaimCursor++);
            }
            Counter.LAPSED.add(memory, reclaimed);
            return reclaimed;
        });
    }

    private int reclaimGoneIn(int page) {
        long state = mutations.pages.state(page);
        boolean cut = Pages.kind(state) == Pages.CUT;
        if (!cut && Pages.kind(state) != Pages.RUN) {
            return 0;
        }
        int reclaimed = 0;
        int chunks = cut ? Pages.carved(state) : 1;
        long step = cut ? layout.sizes.chunkBytes(Pages.slot(state)) : 0;
        for (int chunk = 0; chunk < chunks; chunk++) {
            long offset = layout.pageStart(page) + chunk * step;
            if (mutations.items.checksum(offset) != 0 && reads.isGone(offset)) {
                mutations.unlink(offset, true);
                mutations.pages.freeReserved(true);
                reclaimed++;
            }
        }
        return reclaimed;
    }

    /** Applies what readers noted, if the lock is to be had at once. */
    void applyTouchesIfPressing() {
        if (!recency.isPressing()) {
            return;
        }
        if (section.enterAtOnce()) {
            try {
                recency.apply();
            } catch (Throwable t) {
                throw section.failed(t);
            } finally {
                section.leave();
            }
        }
    }

    /** Whether a mutation is under way that has reserved a chunk; for tests. */
    boolean hasReserved() {
        return memory.word(C_RESERVED) != 0 || memory.word(SlabLayout.C_REWRITING) != 0;
    }
}
