package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_DAMAGED;
import static io.holdfast.slab.SlabLayout.C_RESERVED;
import static io.holdfast.slab.SlabLayout.C_VERSION;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.slab.PutResult.Outcome;
import java.lang.System.Logger.Level;
import java.lang.ref.Reference;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/** A region in memory, file or no file: what {@link SlabCache} promises is kept here, under the region's lock. */
final class SlabStore {

    /** Any version will do. */
    static final long ANY = -1;

    private static final int KEY_SENT_FOR_MOST = 256;
    private static final System.Logger LOG = System.getLogger(SlabStore.class.getName());

    final Memory memory;
    final SlabLayout layout;
    final Mutations mutations;
    final Namespaces namespaces;
    final Processes processes;
    final Loads loads;
    final Reads reads;
    private final RegionLock lock;
    private final Recency recency;
    private final Eviction eviction;
    private final Time time;
    private final Probe probe;
    private final long patienceNanos;
    private int reclaimCursor;
    private volatile boolean detached;

    SlabStore(Memory memory, SlabLayout layout, long hashSeed, Host host, Time time, Probe probe, long patienceNanos) {
        this.memory = memory;
        this.layout = layout;
        this.time = time;
        this.probe = probe;
        this.patienceNanos = patienceNanos;
        this.mutations = new Mutations(memory, layout, hashSeed, probe);
        this.namespaces = new Namespaces(memory, layout);
        this.processes = new Processes(memory, layout, host);
        this.loads = new Loads(memory, layout, host);
        this.lock = new RegionLock(memory, host, time);
        if (layout.preset == Preset.SEED) {
            this.recency = new Recency.Ring(mutations);
            this.eviction = new SeedEviction(mutations);
        } else {
            Recency.Marks marks = new Recency.Marks(memory, layout);
            this.recency = marks;
            this.eviction = new AdaptiveEviction(mutations, marks);
        }
        this.reads = new Reads(mutations, namespaces, recency, processes, time, this::unblock);
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
        if (!enter()) {
            throw busy("open");
        }
        try {
            if (!processes.anyAlive()) {
                AuditReport report = new SlabAudit(mutations).run();
                if (!report.isClean()) {
                    LOG.log(
                            Level.WARNING,
                            "salvaging a slab cache: {0}",
                            report.problems().getFirst());
                    new Salvage(mutations).run();
                }
            }
            processes.attach(time.millis());
            lock.forgetHold();
        } catch (Throwable t) {
            throw failed(t);
        } finally {
            leave();
        }
    }

    /** Leaves the processes of the region; what comes later, or waits now, is refused. */
    void detach() {
        boolean entered = enter();
        detached = true;
        if (entered) {
            try {
                processes.detach();
            } finally {
                leave();
            }
        }
    }

    PutResult put(int namespace, byte[] key, byte[] value, long ttlNanos, boolean mayEvict, long expected) {
        return put(namespace, key, value, ttlNanos, mayEvict, expected, 0);
    }

    /**
     * @param expected the version that must be under the key, 0 for none, {@link #ANY}
     * @param load token of the load that brought the value; it is stored only if nothing voided the load
     */
    PutResult put(int namespace, byte[] key, byte[] value, long ttlNanos, boolean mayEvict, long expected, long load) {
        long flags = ttlNanos == 0 ? 0 : Items.FLAG_TTL;
        long shape = Items.shape(value.length, key.length, namespace, flags);
        long bytes = checkSize(key, Items.bytes(shape));
        long hash = mutations.items.hash(namespace, key);
        int victim = eviction.likelyVictim(layout.sizes.slotFor(bytes));
        long sent = sendFor(hash, victim);
        int content = Items.content(value);
        sendForMore(sent, victim);
        if (!enter()) {
            return new PutResult(Outcome.BUSY, 0, 0);
        }
        PutResult result;
        try {
            if (load != 0 && !loads.end(hash, load)) {
                return new PutResult(Outcome.CONFLICT, 0, 0);
            }
            result = putLocked(hash, shape, bytes, content, key, value, ttlNanos, mayEvict, expected);
            probe.at(Probe.Point.DONE);
        } catch (Throwable t) {
            throw failed(t);
        } finally {
            leave();
        }
        if (result.outcome() == Outcome.NO_ROOM && mayEvict) {
            throw new HoldfastException(
                    Category.FULL,
                    "no memory for a value of " + bytes + " bytes with its key and header",
                    "make the cache larger, or let it evict",
                    null);
        }
        return result;
    }

    /**
     * Sends for the memory that a put is going to need, so that it comes all at once, while the checksum is computed, and
     * not piece by piece under the lock. What is read here is a guess, and nothing but time depends on it.
     *
     * @return the head of the key's chain
     */
    private long sendFor(long hash, int victim) {
        long head = memory.acquire(Index.headAt(mutations.index.lineAt(hash), hash));
        return isNever(shapeOf(victim)) ? 0 : head;
    }

    /** Sends for the value under the key, and for the line and the neighbour of the victim. */
    private void sendForMore(long head, int victim) {
        long more = shapeOf((int) head);
        long offset = (victim & 0xffffffffL) << 3;
        if (layout.holdsItem(offset)) {
            more += shapeOf(mutations.items.newer(offset));
            // Without the lock any length may be read: a key that may end outside the file is left alone.
            boolean inside = offset < layout.size - Items.HEADER - Items.DEADLINES - SlabLayout.KEY_MOST;
            if (inside && Items.keyLength(mutations.items.shape(offset)) <= KEY_SENT_FOR_MOST) {
                more += memory.acquire(mutations.index.lineAt(mutations.items.hash(offset)));
            }
        }
        if (isNever(more)) {
            Thread.onSpinWait();
        }
    }

    private long shapeOf(int reference) {
        long offset = (reference & 0xffffffffL) << 3;
        return layout.holdsItem(offset) ? memory.acquire(Items.shapeAt(offset)) : 0;
    }

    /** What was read must seem to be of use, or the compiler drops the reading. */
    private static boolean isNever(long word) {
        return word == 0x5eed_5eed_5eed_5eedL;
    }

    private long checkSize(byte[] key, long bytes) {
        if (key.length > SlabLayout.KEY_MOST) {
            throw HoldfastException.misuse(
                    "a key of " + key.length + " bytes; allowed: 0 to " + SlabLayout.KEY_MOST, "use a shorter key");
        }
        long most = (long) layout.pages << layout.pageShift;
        if (bytes > most) {
            throw HoldfastException.misuse(
                    "a value of " + bytes + " bytes with its key and header; this cache holds " + most,
                    "make the cache larger, or keep the value elsewhere");
        }
        return bytes;
    }

    private PutResult putLocked(
            long hash,
            long givenShape,
            long bytes,
            int content,
            byte[] key,
            byte[] value,
            long ttlNanos,
            boolean mayEvict,
            long expected) {
        recency.apply();
        int namespace = Items.namespace(givenShape);
        long found = mutations.index.find(hash, namespace, key);
        long current = found != 0 && !isGone(found) ? mutations.items.version(found) : 0;
        if (expected != ANY && current != expected) {
            return new PutResult(Outcome.CONFLICT, current, 0);
        }
        loads.voidKey(hash);
        long line = mutations.index.lineAt(hash);
        long head = Index.headAt(line, hash);
        int slot = layout.sizes.slotFor(bytes);
        boolean main = found == 0 ? eviction.startsInMain(hash, slot) : Items.isMain(mutations.items.shape(found));
        int frequency = recency instanceof Recency.Marks marks ? marks.frequencyWith(head, found != 0) : 0;
        boolean inPlace = found != 0 && fitsInPlace(found, slot, bytes);
        if (inPlace
                && layout.preset == Preset.ADAPTIVE
                && Items.hasDeadline(givenShape) == Items.hasDeadline(mutations.items.shape(found))) {
            recency.stored(head, bytes, frequency);
            long shape = main ? givenShape | Items.FLAG_MAIN : givenShape;
            return rewrite(hash, found, shape, content, key, value, ttlNanos, slot);
        }
        long offset = inPlace ? found : reserve(slot, bytes, found, mayEvict);
        if (offset == 0) {
            mutations.takeEvicted();
            return new PutResult(Outcome.NO_ROOM, current, 0);
        }
        // The value being replaced may have been moved, or was the last that could make room.
        long old = found == 0 || inPlace ? 0 : mutations.index.find(hash, namespace, key);
        mutations.index.shut(line);
        if (inPlace) {
            mutations.unlink(found, false);
            probe.at(Probe.Point.PUT_UNLINKED);
        }
        long version = memory.word(C_VERSION) + 1;
        memory.word(C_VERSION, version);
        long shape = main ? givenShape | Items.FLAG_MAIN : givenShape;
        int checksum = write(hash, offset, shape, version, content, key, value, ttlNanos);
        recency.stored(head, bytes, frequency);
        probe.at(Probe.Point.VALUE_WRITTEN);
        if (old != 0) {
            mutations.unlink(old, true);
            probe.at(Probe.Point.PUT_UNLINKED);
        }
        mutations.link(offset, hash, shape, checksum);
        mutations.index.open(line);
        probe.at(Probe.Point.PUT_LINKED);
        if (old != 0) {
            mutations.pages.freeReserved(true);
        }
        return counted(slot, version);
    }

    /**
     * Replaces a value where it is, in chain and queue. Only its bytes after the header are written before the last
     * micro-operation: whoever finds C_REWRITING set can still take the chunk out, and drops the value.
     */
    private PutResult rewrite(
            long hash, long offset, long shape, int content, byte[] key, byte[] value, long ttlNanos, int slot) {
        long line = mutations.index.lineAt(hash);
        mutations.index.shut(line);
        mutations.rewriting(offset);
        probe.at(Probe.Point.REWRITING);
        long version = memory.word(C_VERSION) + 1;
        memory.word(C_VERSION, version);
        int checksum = writeBody(hash, offset, shape, version, content, key, value, ttlNanos);
        probe.at(Probe.Point.VALUE_WRITTEN);
        mutations.rewritten(hash, offset, version, shape, checksum);
        mutations.index.open(line);
        probe.at(Probe.Point.PUT_LINKED);
        return counted(slot, version);
    }

    private PutResult counted(int slot, long version) {
        int evicted = mutations.takeEvicted();
        Counter.STORED.add(memory, 1);
        Counter.EVICTED.add(memory, evicted);
        Counter.MOST_EVICTED_BY_A_PUT.raise(memory, evicted);
        mutations.slots.count(slot, Slots.Tally.STORED);
        processes.stored();
        return new PutResult(Outcome.STORED, version, evicted);
    }

    /** A value stays in its chunk if the new one belongs there; in SEED also if it is smaller. */
    private boolean fitsInPlace(long found, int slot, long bytes) {
        long state = mutations.pages.state(layout.pageOf(found));
        if (Pages.kind(state) == Pages.RUN) {
            return layout.sizes.isRun(slot) && layout.sizes.pagesFor(bytes) == Pages.length(state);
        }
        return Pages.slot(state) == slot
                || (layout.preset == Preset.SEED && bytes <= layout.sizes.chunkBytes(Pages.slot(state)));
    }

    private long reserve(int slot, long bytes, long found, boolean mayEvict) {
        if (!mayEvict) {
            return mutations.reserveFree(slot, bytes);
        }
        long offset = eviction.reserve(slot, bytes, found);
        if (offset == 0 && found != 0 && !(layout.preset == Preset.SEED && layout.policy == Policy.NONE)) {
            // All others are gone: what is replaced makes room for what replaces it. The whole zone is free then.
            mutations.unlink(found, true);
            mutations.pages.freeReserved(true);
            offset = eviction.reserve(slot, bytes, 0);
        }
        return offset;
    }

    /** Writes everything but the chain word, which {@link Mutations#link} writes; returns the checksum for it. */
    private int write(
            long hash, long offset, long shape, long version, int content, byte[] key, byte[] value, long ttlNanos) {
        memory.word(offset + 16, version);
        memory.word(Items.shapeAt(offset), shape);
        return writeBody(hash, offset, shape, version, content, key, value, ttlNanos);
    }

    private int writeBody(
            long hash, long offset, long shape, long version, int content, byte[] key, byte[] value, long ttlNanos) {
        long monotonic = 0;
        long wall = 0;
        if (ttlNanos != 0) {
            monotonic = time.nanoTime() + ttlNanos;
            wall = time.millis() + Math.ceilDiv(ttlNanos, 1_000_000L);
            memory.word(offset + Items.HEADER, monotonic);
            memory.word(offset + Items.HEADER + 8, wall);
        }
        long at = offset + Items.keyAt(shape);
        memory.write(at, key, 0, key.length);
        memory.write(at + key.length, value, 0, value.length);
        return Items.seal(content, hash, version, shape, monotonic, wall);
    }

    private boolean isGone(long offset) {
        return reads.isGone(offset, mutations.items.shape(offset), mutations.items.version(offset));
    }

    Removal remove(int namespace, byte[] key, long expected) {
        long hash = mutations.items.hash(namespace, key);
        if (!enter()) {
            return Removal.BUSY;
        }
        try {
            recency.apply();
            long found = mutations.index.find(hash, namespace, key);
            boolean gone = found == 0 || isGone(found);
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
            throw failed(t);
        } finally {
            leave();
        }
    }

    void clear(int namespace) {
        locked("clear", version -> {
            namespaces.clear(namespace, version);
            loads.voidNamespace(namespace);
            return 0;
        });
    }

    int namespace(String name) {
        int found = namespaces.find(name);
        return found >= 0 ? found : (int) locked("namespace", version -> namespaces.findOrCreate(name));
    }

    /** The token of a load that this process may now do; 0 if another one does it. */
    long beginLoad(int namespace, byte[] key) {
        long hash = mutations.items.hash(namespace, key);
        return locked("load", version -> {
            memory.word(C_VERSION, version + 1);
            return loads.begin(hash, namespace, version + 1);
        });
    }

    /** Gives up a load that brought nothing. */
    void endLoad(int namespace, byte[] key, long token) {
        long hash = mutations.items.hash(namespace, key);
        locked("load", version -> loads.end(hash, token) ? 1 : 0);
    }

    AuditReport audit() {
        AuditReport[] report = new AuditReport[1];
        locked("audit", version -> {
            report[0] = new SlabAudit(mutations).run();
            lock.forgetHold();
            return 0;
        });
        return report[0];
    }

    /** Takes back the room of values that lapsed or were cleared, looking at so many pages; how many there were. */
    int reclaimGone(int pagesMost) {
        return (int) locked("reclaim", version -> {
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
            if (mutations.items.checksum(offset) != 0 && isGone(offset)) {
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
        RegionLock.Attempt attempt = lock.take(0);
        if (attempt != RegionLock.Attempt.BUSY) {
            try {
                tidyIf(attempt);
                recency.apply();
            } catch (Throwable t) {
                throw failed(t);
            } finally {
                leave();
            }
        }
    }

    private long locked(String what, LongUnaryOperator work) {
        if (!enter()) {
            throw busy(what);
        }
        try {
            return work.applyAsLong(memory.word(C_VERSION));
        } catch (HoldfastException e) {
            if (e.category() == Category.CORRUPT) {
                throw failed(e);
            }
            throw e;
        } catch (Throwable t) {
            throw failed(t);
        } finally {
            leave();
        }
    }

    private static HoldfastException busy(String what) {
        return new HoldfastException(
                Category.RETRY, "BUSY: another process holds the cache's lock; '" + what + "' was not done");
    }

    private boolean enter() {
        RegionLock.Attempt attempt = lock.take(patienceNanos);
        if (attempt == RegionLock.Attempt.BUSY) {
            return false;
        }
        if (detached) {
            leave();
            throw HoldfastException.misuse("the cache is closed", "open it again");
        }
        tidyIf(attempt);
        try {
            probe.at(Probe.Point.LOCKED);
        } catch (Throwable t) {
            leave();
            throw t;
        }
        return true;
    }

    private void leave() {
        try {
            lock.release();
        } finally {
            // Until the last word was written the memory must not be unmapped.
            Reference.reachabilityFence(memory);
        }
    }

    private void tidyIf(RegionLock.Attempt attempt) {
        if (attempt == RegionLock.Attempt.TAKEN_UNTIDY) {
            lock.leaveUntidy();
            try {
                repair();
                lock.tidied();
            } catch (Throwable t) {
                leave();
                throw t;
            }
        }
    }

    /** A reader found a line shut for long: if its writer is dead, somebody has to repair, and nobody may come. */
    private void unblock() {
        if (lock.isHeldByTheDead() && enter()) {
            leave();
        }
    }

    /** Repairs after a failure inside the lock; the failure goes on. */
    private RuntimeException failed(Throwable t) {
        lock.leaveUntidy();
        mutations.takeEvicted();
        try {
            if (t instanceof HoldfastException e && e.category() == Category.CORRUPT) {
                salvage(e);
            } else {
                repair();
            }
            lock.tidied();
        } catch (Throwable again) {
            t.addSuppressed(again);
        }
        if (t instanceof Error error) {
            throw error;
        }
        return t instanceof RuntimeException e ? e : new IllegalStateException(t);
    }

    private void repair() {
        if (memory.word(C_DAMAGED) != 0) {
            salvage(null);
            return;
        }
        try {
            mutations.repair();
            loads.repair();
            processes.releaseDead();
            Counter.REPAIRS.add(memory, 1);
        } catch (HoldfastException e) {
            salvage(e);
        }
    }

    private void salvage(@Nullable HoldfastException why) {
        LOG.log(
                Level.WARNING,
                () -> "salvaging a slab cache: " + (why == null ? "unfinished before" : why.getMessage()));
        new Salvage(mutations).run();
        loads.repair();
        processes.releaseDead();
    }

    /** Whether a mutation is under way that has reserved a chunk; for tests. */
    boolean hasReserved() {
        return memory.word(C_RESERVED) != 0 || memory.word(SlabLayout.C_REWRITING) != 0;
    }
}
