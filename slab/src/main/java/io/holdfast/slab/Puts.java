package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.slab.PutResult.Outcome;
import org.jspecify.annotations.Nullable;

/**
 * Storing a value: where it is, if it fits there; else in a chunk that was free or whose value was evicted. What needs no
 * lock, hash and checksum, comes before it.
 */
final class Puts {

    private static final long REWRITTEN_MOST = 4096;

    private final Memory memory;
    private final SlabLayout layout;
    private final Mutations mutations;
    private final CriticalSection section;
    private final Reads reads;
    private final Recency recency;
    private final Eviction eviction;
    private final Loads loads;
    private final Processes processes;
    private final Time time;
    private final Probe probe;
    private final ReadAhead ahead;

    Puts(
            Mutations mutations,
            CriticalSection section,
            Reads reads,
            Recency recency,
            Eviction eviction,
            Loads loads,
            Processes processes,
            Time time) {
        this.memory = mutations.memory;
        this.layout = mutations.layout;
        this.mutations = mutations;
        this.section = section;
        this.reads = reads;
        this.recency = recency;
        this.eviction = eviction;
        this.loads = loads;
        this.processes = processes;
        this.time = time;
        this.probe = mutations.probe;
        this.ahead = new ReadAhead(mutations, eviction);
    }

    /**
     * What is to be stored.
     *
     * @param ttlNanos 0 for a value that does not lapse
     * @param expected the version that must be under the key, 0 for none, {@link SlabStore#ANY}, {@link SlabStore#PRESENT}
     * @param load the load that brought the value; it is stored only if nothing voided the load
     */
    @SuppressWarnings("ArrayRecordComponent") // the caller's own, not kept
    record Request(
            int namespace,
            byte[] key,
            byte[] value,
            long ttlNanos,
            boolean mayEvict,
            long expected,
            @Nullable LoadLease load) {}

    /** @param hash of namespace and key */
    PutResult put(long hash, Request request, long patienceNanos) {
        byte[] key = request.key();
        byte[] value = request.value();
        long flags = request.ttlNanos() == 0 ? 0 : Items.FLAG_TTL;
        long shape = Items.shape(value.length, key.length, request.namespace(), flags);
        long bytes = checkSize(key, Items.bytes(shape));
        long content = ahead.content(hash, value, bytes);
        Hold hold = section.enter(patienceNanos);
        if (hold == null) {
            return new PutResult(Outcome.BUSY, 0, 0);
        }
        PutResult result;
        try {
            LoadLease load = request.load();
            if (load != null && !loads.end(load)) {
                return new PutResult(Outcome.CONFLICT, 0, 0);
            }
            result = putLocked(hash, shape, bytes, content, request);
            probe.at(Probe.Point.DONE);
        } catch (Throwable t) {
            throw section.failed(hold, t);
        } finally {
            hold.close();
        }
        if (result.outcome() == Outcome.NO_ROOM && request.mayEvict()) {
            throw new HoldfastException(
                    Category.FULL,
                    "no memory for a key of " + key.length + " bytes with a value of " + value.length + " bytes",
                    "make the cache larger, or let it evict",
                    null);
        }
        return result;
    }

    private long checkSize(byte[] key, long bytes) {
        if (key.length > SlabLayout.KEY_MOST) {
            throw HoldfastException.misuse(
                    "a key of " + key.length + " bytes; allowed: 0 to " + SlabLayout.KEY_MOST, "use a shorter key");
        }
        long most = (long) layout.pages << layout.pageShift;
        if (bytes > most) {
            throw HoldfastException.misuse(
                    "a value of " + bytes + " bytes with its key and header; a shard of this cache holds " + most,
                    "make the cache larger, or of fewer shards, or keep the value elsewhere");
        }
        return bytes;
    }

    private PutResult putLocked(long hash, long givenShape, long bytes, long content, Request request) {
        recency.apply();
        int namespace = request.namespace();
        byte[] key = request.key();
        long found = mutations.index.find(hash, namespace, key);
        long current = found != 0 && !reads.isGone(found) ? mutations.items.version(found) : 0;
        if (!isExpected(request.expected(), current)) {
            return new PutResult(Outcome.CONFLICT, current, 0);
        }
        loads.voidKey(hash);
        long line = mutations.index.lineAt(hash);
        long head = found != 0 ? mutations.index.headOf(hash, found) : mutations.index.placeFor(hash);
        int slot = layout.sizes.slotFor(bytes);
        boolean main = found == 0 ? eviction.startsInMain(hash, slot) : Items.isMain(mutations.items.shape(found));
        int frequency = recency instanceof Recency.Marks marks ? marks.frequencyWith(head, found != 0) : 0;
        long shape = main ? givenShape | Items.FLAG_MAIN : givenShape;
        boolean inPlace = found != 0 && fitsInPlace(found, slot, bytes);
        if (inPlace && layout.preset == Preset.ADAPTIVE && isRewritable(found, givenShape)) {
            recency.stored(head, bytes, frequency);
            return rewrite(hash, found, shape, content, request, slot);
        }
        boolean unlinkFirst = inPlace && layout.preset == Preset.SEED;
        long offset = unlinkFirst ? found : reserve(slot, bytes, found, request.mayEvict());
        if (offset == 0) {
            mutations.takeEvicted();
            return new PutResult(Outcome.NO_ROOM, current, 0);
        }
        // The value being replaced may have been moved, or was the last that could make room.
        long old = found == 0 || unlinkFirst ? 0 : mutations.index.find(hash, namespace, key);
        if (unlinkFirst) {
            mutations.index.shut(line);
            mutations.unlink(found, false);
            probe.at(Probe.Point.PUT_UNLINKED);
        }
        long version = mutations.nextVersion();
        // The chunk is in no chain: readers of the line need not wait for the copy.
        int checksum = write(hash, offset, shape, version, content, request);
        probe.at(Probe.Point.VALUE_WRITTEN);
        mutations.index.shut(line);
        if (old != 0) {
            mutations.unlink(old, true);
            probe.at(Probe.Point.PUT_UNLINKED);
        }
        recency.stored(mutations.index.placeFor(hash), bytes, frequency);
        mutations.link(offset, hash, shape, checksum);
        mutations.index.open(line);
        probe.at(Probe.Point.PUT_LINKED);
        if (old != 0) {
            mutations.pages.freeReserved(true);
        }
        return counted(slot, version);
    }

    private static boolean isExpected(long expected, long current) {
        return expected == SlabStore.ANY || (expected == SlabStore.PRESENT ? current != 0 : current == expected);
    }

    /** A line is shut for as long as a value in it is written over: neither a long copy, nor one that moves the key. */
    private boolean isRewritable(long found, long shape) {
        return Items.hasDeadline(shape) == Items.hasDeadline(mutations.items.shape(found))
                && Items.bytes(shape) <= REWRITTEN_MOST;
    }

    /**
     * Replaces a value where it is, in chain and queue. Only its bytes after the header are written before the last
     * micro-operation: whoever finds C_REWRITING set can still take the chunk out, and drops the value.
     */
    private PutResult rewrite(long hash, long offset, long shape, long content, Request request, int slot) {
        long line = mutations.index.lineAt(hash);
        mutations.index.shut(line);
        mutations.rewriting(offset);
        probe.at(Probe.Point.REWRITING);
        long version = mutations.nextVersion();
        int checksum = writeBody(hash, offset, shape, version, content, request);
        probe.at(Probe.Point.VALUE_WRITTEN);
        mutations.rewritten(hash, offset, version, shape, checksum);
        mutations.index.open(line);
        probe.at(Probe.Point.PUT_LINKED);
        return counted(slot, version);
    }

    private PutResult counted(int slot, long version) {
        int evicted = mutations.takeEvicted();
        Counter.STORED.add(memory, 1);
        if (evicted > 0) {
            Counter.EVICTED.add(memory, evicted);
            Counter.MOST_EVICTED_BY_A_PUT.raise(memory, evicted);
        }
        mutations.slots.count(slot, Slots.Tally.STORED);
        processes.stored();
        return new PutResult(Outcome.STORED, version, evicted);
    }

    /** A value stays in its chunk if the new one belongs there; in SEED also if it is smaller. */
    private boolean fitsInPlace(long found, int slot, long bytes) {
        long state = mutations.pages.state(mutations.pages.areaOf(found));
        if (Pages.kind(state) == Pages.RUN) {
            return layout.sizes.isRun(slot) && layout.sizes.unitsFor(slot, bytes) == Pages.length(state);
        }
        return Pages.slot(state) == slot || (layout.preset == Preset.SEED && bytes <= mutations.pages.room(found));
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
    private int write(long hash, long offset, long shape, long version, long content, Request request) {
        memory.word(offset + 16, version);
        memory.word(Items.shapeAt(offset), shape);
        memory.write(offset + Items.keyAt(shape), request.key(), 0, request.key().length);
        return writeBody(hash, offset, shape, version, content, request);
    }

    /** Deadlines and value; the key is there. */
    private int writeBody(long hash, long offset, long shape, long version, long content, Request request) {
        long monotonic = 0;
        long wall = 0;
        long ttlNanos = request.ttlNanos();
        if (ttlNanos != 0) {
            monotonic = time.nanoTime() + ttlNanos;
            wall = time.millis() + Math.ceilDiv(ttlNanos, 1_000_000L);
            memory.word(offset + Items.HEADER, monotonic);
            memory.word(offset + Items.HEADER + 8, wall);
        }
        byte[] value = request.value();
        memory.write(offset + Items.keyAt(shape) + Items.keyLength(shape), value, 0, value.length);
        return Items.seal(content, hash, version, shape, monotonic, wall);
    }
}
