package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_RESERVED;
import static io.holdfast.slab.SlabLayout.C_REWRITING;
import static io.holdfast.slab.SlabLayout.C_VERSION;

import java.lang.invoke.VarHandle;

/**
 * The steps that puts, removes, evictions and page moves are made of. Each is one micro-operation of the journal; a
 * line of the index is shut while one of its chains changes. Only under the region's lock.
 */
final class Mutations {

    final Memory memory;
    final SlabLayout layout;
    final Journal journal;
    final Items items;
    final Slots slots;
    final Pages pages;
    final Index index;
    final Probe probe;
    private int evicted;

    Mutations(Memory memory, SlabLayout layout, long hashSeed, Probe probe) {
        this.memory = memory;
        this.layout = layout;
        this.probe = probe;
        this.journal = new Journal(memory, layout, probe);
        this.items = new Items(memory, layout, hashSeed);
        this.slots = new Slots(memory, layout, items, journal);
        this.pages = new Pages(memory, layout, slots, journal, probe);
        this.index = new Index(memory, layout, items, journal);
    }

    /** The version of a new value. Shards take turns, so that no two values of a cache have the same. */
    long nextVersion() {
        long version = memory.word(C_VERSION) + layout.shards;
        memory.word(C_VERSION, version);
        return version;
    }

    /** How many values were evicted since this was last asked. */
    int takeEvicted() {
        int count = evicted;
        evicted = 0;
        return count;
    }

    /** A reserved chunk from what is free already: an open page of the slot, a free page, a free run; 0 if none is. */
    long reserveFree(int slot, long bytes) {
        if (layout.sizes.isRun(slot)) {
            return pages.reserveRun(slot, layout.sizes.unitsFor(slot, bytes));
        }
        long offset = pages.reserveChunk(slot, -1);
        return offset == 0 && pages.takePage(slot) ? pages.reserveChunk(slot, -1) : offset;
    }

    /** Takes a value out of index and queue; its chunk is reserved, on its way out or in again. */
    void unlink(long offset, boolean outgoing) {
        unlink(offset, items.hash(offset), pages.slotOf(offset), outgoing);
    }

    private void unlink(long offset, long hash, int slot, boolean outgoing) {
        long shape = items.shape(offset);
        long line = index.lineAt(hash);
        boolean shut = index.shut(line);
        index.stageUnlink(hash, offset);
        slots.stageTake(slot, Items.isMain(shape), offset);
        journal.stage(offset, 0);
        journal.stageAdd(slots.bytesAt(slot), -Items.bytes(shape));
        if (outgoing) {
            journal.stageHigh(C_RESERVED, Items.reference(offset));
        } else {
            journal.stageLow(C_RESERVED, Items.reference(offset));
        }
        journal.commit();
        if (shut) {
            index.open(line);
        }
    }

    /** Puts the value that was written into the incoming chunk into index and queue. */
    void link(long offset, long hash, long shape, int checksum) {
        int slot = pages.slotOf(offset);
        long line = index.lineAt(hash);
        boolean shut = index.shut(line);
        index.stageLink(hash, offset, checksum);
        slots.stagePush(slot, Items.isMain(shape), offset, true);
        journal.stageAdd(slots.bytesAt(slot), Items.bytes(shape));
        journal.stageLow(C_RESERVED, 0);
        journal.commit();
        if (shut) {
            index.open(line);
        }
    }

    /** Makes a value the newest of the main queue of its slot, wherever it was. */
    void promote(long offset) {
        long shape = items.shape(offset);
        int slot = pages.slotOf(offset);
        boolean main = Items.isMain(shape);
        if (main && slots.newest(slot, true) == Items.reference(offset)) {
            return;
        }
        slots.stageTake(slot, main, offset);
        slots.stagePush(slot, true, offset, false);
        if (!main) {
            journal.stage(Items.shapeAt(offset), shape | Items.FLAG_MAIN);
        }
        journal.commit();
    }

    /** Gives the oldest values of the main queue, up to and with this one, another round; it is not the newest. */
    void rotate(int slot, long last) {
        slots.stageRotate(slot, last);
        journal.commit();
    }

    /** From here until {@link #rewritten} the chunk stays in chain and queue while its value is not to be believed. */
    void rewriting(long offset) {
        memory.word(C_REWRITING, Items.reference(offset));
        VarHandle.storeStoreFence();
    }

    /**
     * Ends a rewriting. If the value has the shape it had, only words change that nobody needs who drops the chunk, so that
     * C_REWRITING alone decides; else the counts change with it, by a micro-operation.
     */
    void rewritten(long hash, long offset, long version, long shape, int checksum) {
        long head = Items.head(items.next(offset), checksum);
        if (shape == items.shape(offset)) {
            memory.word(offset, head);
            memory.word(offset + 16, version);
            VarHandle.storeStoreFence();
            memory.release(C_REWRITING, 0);
            return;
        }
        index.stageReshape(hash, offset, shape);
        journal.stage(offset, head);
        journal.stage(offset + 16, version);
        journal.stageAdd(slots.bytesAt(pages.slotOf(offset)), Items.bytes(shape) - Items.bytes(items.shape(offset)));
        journal.stage(Items.shapeAt(offset), shape);
        journal.stage(C_REWRITING, 0);
        journal.commit();
    }

    void evict(long offset) {
        unlinkVictim(offset, items.hash(offset), true);
        pages.freeReserved(true);
    }

    /** Evicts a value and keeps its chunk for the one that comes. */
    long evictInto(long offset, long hash) {
        unlinkVictim(offset, hash, false);
        return offset;
    }

    private void unlinkVictim(long offset, long hash, boolean outgoing) {
        int slot = pages.slotOf(offset);
        slots.count(slot, Slots.Tally.EVICTED);
        unlink(offset, hash, slot, outgoing);
        evicted++;
        probe.at(Probe.Point.EVICT_UNLINKED);
    }

    /**
     * Whether the value may be moved. Until all values were verified each is checked: one that went from before the
     * {@link Verification} to behind it would be served unchecked for ever.
     */
    boolean isTrusted(long offset) {
        return memory.word(SlabLayout.C_UNVERIFIED) == 0 || items.isWhole(offset, pages.room(offset));
    }

    /** Moves a value that is trusted into the reserved chunk of the same slot; the chunk it leaves is reserved, on its way out. */
    void relocate(long offset, long to) {
        long shape = items.shape(offset);
        int slot = pages.slotOf(offset);
        long hash = items.hash(offset);
        memory.move(offset + 8, to + 8, Items.bytes(shape) - 8);
        probe.at(Probe.Point.MOVE_COPIED);
        long line = index.lineAt(hash);
        boolean shut = index.shut(line);
        index.stageReplace(hash, offset, to);
        slots.stageReplace(slot, Items.isMain(shape), offset, to);
        journal.stage(offset, 0);
        journal.stage(C_RESERVED, (long) Items.reference(offset) << 32);
        journal.commit();
        if (shut) {
            index.open(line);
        }
        probe.at(Probe.Point.MOVE_RELINKED);
        pages.freeReserved(true);
    }

    /** Brings the region back into order after a mutation that did not end; done twice it is the same as once. */
    void repair() {
        journal.undo();
        probe.at(Probe.Point.REPAIR_UNDONE);
        long rewriting = memory.word(C_REWRITING);
        if (rewriting != 0 && (memory.word(C_RESERVED) >>> 32) == 0) {
            journal.stage(C_REWRITING, 0);
            unlink(items.offset((int) rewriting), true);
        }
        memory.word(C_REWRITING, 0);
        long reserved = memory.word(C_RESERVED);
        if (reserved >>> 32 != 0) {
            pages.freeReserved(true);
        }
        if ((int) reserved != 0) {
            pages.freeReserved(false);
        }
        pages.tidy();
        probe.at(Probe.Point.REPAIR_RELEASED);
        VarHandle.storeStoreFence();
        index.openAll();
        probe.at(Probe.Point.REPAIR_SEQUENCES);
    }
}
