package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_FREE;
import static io.holdfast.slab.SlabLayout.C_FREE_SHORT;
import static io.holdfast.slab.SlabLayout.C_RESERVED;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;

/**
 * What each part of the data is used for. The data is a row of units; every unit belongs to exactly one <em>area</em>: a
 * page of chunks, which begins at a multiple of its own length; a run for one large value; or a free run, joined with its
 * free neighbours. Both ends of an area tell its length, so that its neighbours are found without a search.
 *
 * <pre>
 *  +0   state   CUT:   kind (4) . slot (8) at 48 . first free chunk + 1 (16) at 32 . used (16) at 16 . carved (16)
 *               FREE:  kind (4) . length (32)             first unit of a free run
 *               RUN:   kind (4) . slot (8) . length (32)  first unit of a large value
 *               *_END: kind (4) . slot (8) . length (32)  last unit of an area of two or more; 0 in between
 *  +8   links   previous + 1 (32) | next + 1 (32)     CUT with room: the slot's open pages; FREE: the free runs
 *  born         version of the region when the area was given to its slot: links of the second unit; SEED: +16
 * </pre>
 *
 * Free runs that hold a whole page are listed at C_FREE, the others at C_FREE_SHORT: a page is found at once, whatever
 * pieces large values leave between them.
 *
 * <p>A chunk is in exactly one of three states: free in its page, used by a value in the index, or <em>reserved</em>: named
 * by one half of C_RESERVED while a mutation carries it in or out. Every method that changes something is one or more
 * micro-operations of the {@link Journal}, each of which leaves all of this true but for free neighbours to be joined.
 */
final class Pages {

    static final int FREE = 1;
    static final int FREE_END = 2;
    static final int RUN = 3;
    static final int RUN_END = 4;
    static final int CUT = 5;
    static final int CUT_END = 6;

    /** Free runs looked at for a large value before others have to go. */
    private static final int LOOKED_AT_MOST = 16;

    private final Memory memory;
    private final SlabLayout layout;
    private final Slots slots;
    private final Journal journal;
    private final Probe probe;
    final int span;

    Pages(Memory memory, SlabLayout layout, Slots slots, Journal journal, Probe probe) {
        this.memory = memory;
        this.layout = layout;
        this.slots = slots;
        this.journal = journal;
        this.probe = probe;
        this.span = layout.sizes.span;
    }

    private static HoldfastException corrupt(String what) {
        return new HoldfastException(Category.CORRUPT, what);
    }

    long stateAt(int unit) {
        if (unit < 0 || unit >= layout.units) {
            throw corrupt("there is no unit " + unit);
        }
        return layout.unitsAt + (long) unit * layout.unitEntryBytes;
    }

    long linksAt(int unit) {
        return stateAt(unit) + 8;
    }

    private long bornAt(int first) {
        return span == 1 ? stateAt(first) + 16 : linksAt(Math.min(first + 1, layout.units - 1));
    }

    long state(int unit) {
        return memory.word(stateAt(unit));
    }

    int previous(int unit) {
        return (int) memory.word(linksAt(unit)) - 1;
    }

    int next(int unit) {
        return (int) (memory.word(linksAt(unit)) >>> 32) - 1;
    }

    long born(int first) {
        return memory.word(bornAt(first));
    }

    static int kind(long state) {
        return (int) (state >>> 60);
    }

    static int slot(long state) {
        return (int) (state >>> 48) & 0xff;
    }

    static int length(long state) {
        return (int) state;
    }

    static int firstFree(long state) {
        return (int) (state >>> 32) & 0xffff;
    }

    static int used(long state) {
        return (int) (state >>> 16) & 0xffff;
    }

    static int carved(long state) {
        return (int) state & 0xffff;
    }

    static long cut(int slot, int firstFree, int used, int carved) {
        return (long) CUT << 60 | (long) slot << 48 | (long) firstFree << 32 | (long) used << 16 | carved;
    }

    static long run(int kind, int slot, int length) {
        return (long) kind << 60 | (long) slot << 48 | length;
    }

    int freeUnits() {
        return (int) (memory.word(C_FREE) >>> 32);
    }

    int firstFreeRun(boolean withPage) {
        return (int) memory.word(withPage ? C_FREE : C_FREE_SHORT) - 1;
    }

    /** Whether a whole page lies in the units, at a place where a page can begin. */
    boolean holdsPage(int first, int length) {
        return lastPage(first, length) >= first;
    }

    private int lastPage(int first, int length) {
        return ((first + length) & -span) - span;
    }

    private long listOf(int first, int length) {
        return holdsPage(first, length) ? C_FREE : C_FREE_SHORT;
    }

    /** Length of the area that begins at the unit; CORRUPT if none does, or its end says otherwise. */
    int areaLength(int unit) {
        long state = state(unit);
        int kind = kind(state);
        int length = switch (kind) {
            case FREE, RUN -> length(state);
            case CUT -> (unit & (span - 1)) == 0 ? span : 0;
            default -> 0;
        };
        if (length < 1 || length > layout.units - unit || (length > 1 && !isEnd(unit + length - 1, kind, length))) {
            throw corrupt("unit " + unit + " has state " + Long.toHexString(state) + " and begins no area");
        }
        return length;
    }

    private boolean isEnd(int unit, int kind, int length) {
        long end = state(unit);
        return kind(end) == kind + 1 && length(end) == length;
    }

    /** First unit of the area that ends right before this unit, which is not the first. */
    int areaBefore(int unit) {
        long end = state(unit - 1);
        int length = switch (kind(end)) {
            case FREE_END, RUN_END, CUT_END -> length(end);
            case FREE, RUN, CUT -> 1;
            default -> 0;
        };
        if (length < 1 || length > unit || areaLength(unit - length) != length) {
            throw corrupt("unit " + (unit - 1) + " has state " + Long.toHexString(end) + " and ends no area");
        }
        return unit - length;
    }

    /** First unit of the area that holds a chunk. */
    int areaOf(long offset) {
        int unit = layout.unitOf(offset);
        int page = unit & -span;
        return kind(state(page)) == CUT ? page : unit;
    }

    /** Bytes that the chunk at the offset may use. */
    long room(long offset) {
        long state = state(areaOf(offset));
        return kind(state) == CUT
                ? layout.sizes.chunkBytes(chunkSlot(state))
                : (long) length(state) << layout.sizes.unitShift;
    }

    int slotOf(long offset) {
        return slot(state(areaOf(offset)));
    }

    /** The slot of a page of chunks; CORRUPT if it has none. */
    private int chunkSlot(long state) {
        int slot = slot(state);
        if (slot >= layout.sizes.chunkSlots()) {
            throw corrupt("a page of chunks has slot " + slot);
        }
        return slot;
    }

    /** Reserves a free chunk of the slot in a page it has already; 0 if there is none. */
    long reserveChunk(int slot, int exceptPage) {
        int page = slots.openPage(slot);
        if (page == exceptPage && page >= 0) {
            page = next(page);
        }
        if (page < 0) {
            return 0;
        }
        long state = state(page);
        if (kind(state) != CUT || slot(state) != slot) {
            throw corrupt("the page at unit " + page + " is not of slot " + slot);
        }
        int capacity = layout.sizes.chunksPerPage(slot);
        int chunk;
        int firstFree = firstFree(state);
        int carved = carved(state);
        if (firstFree != 0) {
            chunk = firstFree - 1;
            long word = memory.word(chunkAt(page, slot, chunk));
            if (word >>> 32 != 0 || chunk >= carved) {
                throw corrupt("chunk " + chunk + " of the page at unit " + page + " is listed as free and is not");
            }
            firstFree = (int) word & 0xffff;
        } else {
            chunk = carved++;
            if (chunk >= capacity) {
                throw corrupt("the page at unit " + page + " is listed as open and is full");
            }
            memory.word(chunkAt(page, slot, chunk), 0);
        }
        long offset = chunkAt(page, slot, chunk);
        journal.stage(stateAt(page), cut(slot, firstFree, used(state) + 1, carved));
        if (firstFree == 0 && carved == capacity) {
            stageUnlist(page, slots.openPageAt(slot));
            journal.stage(linksAt(page), 0);
        }
        journal.stageLow(C_RESERVED, Items.reference(offset));
        journal.commit();
        probe.at(Probe.Point.CHUNK_RESERVED);
        return offset;
    }

    private long chunkAt(int page, int slot, int chunk) {
        if (chunk < 0 || chunk >= layout.sizes.chunksPerPage(slot)) {
            throw corrupt("the page at unit " + page + " has no chunk " + chunk);
        }
        return layout.unitStart(page) + (long) chunk * layout.sizes.chunkBytes(slot);
    }

    /** Gives a free page to the slot; false if no page is free. */
    boolean takePage(int slot) {
        int first = firstFreeRun(true);
        if (first < 0) {
            return false;
        }
        int length = freeLength(first);
        int page = lastPage(first, length);
        if (page < first) {
            throw corrupt("the free run at unit " + first + " is listed with those that hold a page");
        }
        if (page + span < first + length) {
            split(first, page + span);
        }
        if (page > first) {
            split(first, page);
        }
        stageUnlist(page, C_FREE);
        journal.stageAdd(C_FREE, -(long) span << 32);
        journal.stage(stateAt(page), cut(slot, 0, 0, 0));
        if (span > 1) {
            journal.stage(stateAt(page + span - 1), run(CUT_END, slot, span));
        }
        stageList(page, slots.openPageAt(slot));
        journal.stageAdd(slots.unitsAt(slot), span);
        memory.word(bornAt(page), memory.word(SlabLayout.C_VERSION));
        journal.commit();
        probe.at(Probe.Point.PAGE_TAKEN);
        return true;
    }

    /** Makes two free runs of one. */
    private void split(int first, int second) {
        int length = freeLength(first);
        int left = second - first;
        stageUnlist(first, listOf(first, length));
        stageFreeRun(first, left);
        stageFreeRun(second, length - left);
        stageList(first, listOf(first, left));
        stageList(second, listOf(second, length - left));
        journal.commit();
    }

    /** Reserves so many units in a row for a large value; 0 if no free run that is looked at is long enough. */
    long reserveRun(int slot, int length) {
        for (int list = 0; list < 2; list++) {
            int first = firstFreeRun(list == 1);
            for (int steps = 0; first >= 0 && (steps < LOOKED_AT_MOST || span == 1); first = next(first), steps++) {
                if (steps > layout.units) {
                    throw corrupt("the list of free runs has no end");
                }
                int available = freeLength(first);
                if (available >= length) {
                    return reserveRun(slot, length, first, available);
                }
            }
        }
        return 0;
    }

    private long reserveRun(int slot, int length, int first, int available) {
        int run = first + available - length;
        if (run > first) {
            split(first, run);
        }
        stageUnlist(run, listOf(run, length));
        journal.stage(linksAt(run), 0);
        journal.stageAdd(C_FREE, -(long) length << 32);
        journal.stage(stateAt(run), run(RUN, slot, length));
        if (length > 1) {
            journal.stage(stateAt(run + length - 1), run(RUN_END, slot, length));
        }
        journal.stageAdd(slots.unitsAt(slot), length);
        journal.stageLow(C_RESERVED, Items.reference(layout.unitStart(run)));
        memory.word(layout.unitStart(run), 0);
        memory.word(bornAt(run), memory.word(SlabLayout.C_VERSION));
        journal.commit();
        probe.at(Probe.Point.CHUNK_RESERVED);
        return layout.unitStart(run);
    }

    /** Frees the chunk that a half of C_RESERVED names, and the page with it if it was the last one used. */
    void freeReserved(boolean outgoing) {
        long word = memory.word(C_RESERVED);
        long offset = ((outgoing ? word >>> 32 : word) & 0xffffffffL) << 3;
        if (!layout.holdsItem(offset)) {
            throw corrupt("offset " + offset + " is reserved");
        }
        int area = areaOf(offset);
        long state = state(area);
        if (kind(state) == RUN && offset == layout.unitStart(area)) {
            memory.word(offset, 0);
            stageReserved(outgoing);
            freeRun(area, areaLength(area), slot(state));
        } else if (kind(state) == CUT) {
            freeChunk(area, state, offset, outgoing);
        } else {
            throw corrupt("a chunk at offset " + offset + " is reserved, where none is");
        }
    }

    private void stageReserved(boolean outgoing) {
        if (outgoing) {
            journal.stageHigh(C_RESERVED, 0);
        } else {
            journal.stageLow(C_RESERVED, 0);
        }
    }

    private void freeChunk(int page, long state, long offset, boolean outgoing) {
        int slot = chunkSlot(state);
        int size = layout.sizes.chunkBytes(slot);
        long within = offset - layout.unitStart(page);
        int chunk = (int) (within / size);
        if (within % size != 0 || chunk >= carved(state) || used(state) == 0) {
            throw corrupt("offset " + offset + " is no used chunk of the page at unit " + page);
        }
        boolean wasFull = firstFree(state) == 0 && carved(state) == layout.sizes.chunksPerPage(slot);
        journal.stage(offset, firstFree(state));
        journal.stage(stateAt(page), cut(slot, chunk + 1, used(state) - 1, carved(state)));
        if (wasFull) {
            stageList(page, slots.openPageAt(slot));
        }
        stageReserved(outgoing);
        journal.commit();
        probe.at(Probe.Point.CHUNK_FREED);
        if (used(state) == 1) {
            freePage(page, slot);
        }
    }

    /** Takes an empty page from its slot. */
    private void freePage(int page, int slot) {
        stageUnlist(page, slots.openPageAt(slot));
        freeRun(page, span, slot);
    }

    private void freeRun(int first, int length, int slot) {
        journal.stageAdd(slots.unitsAt(slot), -length);
        stageFreeRun(first, length);
        stageList(first, listOf(first, length));
        journal.stageAdd(C_FREE, (long) length << 32);
        journal.commit();
        probe.at(Probe.Point.PAGE_FREED);
        joinAround(first);
    }

    /** Joins a free run with the free runs before and after it. */
    private void joinAround(int first) {
        int following = first + freeLength(first);
        if (following < layout.units && kind(state(following)) == FREE) {
            join(first, following);
        }
        if (first > 0) {
            int kind = kind(state(first - 1));
            if (kind == FREE || kind == FREE_END) {
                join(areaBefore(first), first);
            }
        }
    }

    private void join(int first, int second) {
        int length = freeLength(first);
        int added = freeLength(second);
        if (first + length != second) {
            throw corrupt("free runs at units " + first + " and " + second + " overlap");
        }
        stageUnlist(second, listOf(second, added));
        journal.stage(linksAt(second), 0);
        stageUnlist(first, listOf(first, length));
        if (length > 1) {
            journal.stage(stateAt(second - 1), 0);
        }
        if (added > 1) {
            journal.stage(stateAt(second), 0);
        }
        stageFreeRun(first, length + added);
        stageList(first, listOf(first, length + added));
        journal.commit();
    }

    /** What a crash between two micro-operations leaves undone: neighbours not joined, empty pages not given back. */
    void tidy() {
        for (int unit = 0; unit < layout.units; ) {
            long state = state(unit);
            if (kind(state) == CUT && used(state) == 0) {
                freePage(unit, chunkSlot(state));
                unit = 0; // what was free around it is one run now
            } else {
                unit += areaLength(unit);
            }
        }
        int unit = 0;
        while (unit < layout.units) {
            int following = unit + areaLength(unit);
            if (kind(state(unit)) == FREE && following < layout.units && kind(state(following)) == FREE) {
                join(unit, following);
            } else {
                unit = following;
            }
        }
    }

    /** Whether a used or reserved chunk begins at the offset. */
    boolean isChunk(long offset) {
        if (!layout.holdsItem(offset)) {
            return false;
        }
        int area = areaOf(offset);
        long state = state(area);
        long within = offset - layout.unitStart(area);
        if (kind(state) != CUT) {
            return kind(state) == RUN && within == 0;
        }
        if (slot(state) >= layout.sizes.chunkSlots()) {
            return false;
        }
        int size = layout.sizes.chunkBytes(slot(state));
        return within % size == 0 && within / size < carved(state);
    }

    int freeLength(int first) {
        if (kind(state(first)) != FREE) {
            throw corrupt("unit " + first + " is listed as free and is not");
        }
        return areaLength(first);
    }

    private void stageFreeRun(int first, int length) {
        journal.stage(stateAt(first), run(FREE, 0, length));
        if (length > 1) {
            journal.stage(stateAt(first + length - 1), run(FREE_END, 0, length));
        }
    }

    /** Puts an area at the front of the list whose first unit + 1 is the lower half of the word. */
    private void stageList(int unit, long listAt) {
        int first = (int) journal.read(listAt) - 1;
        journal.stage(linksAt(unit), (long) (first + 1) << 32);
        if (first >= 0) {
            journal.stageLow(linksAt(first), unit + 1);
        }
        journal.stageLow(listAt, unit + 1);
    }

    private void stageUnlist(int unit, long listAt) {
        long links = journal.read(linksAt(unit));
        int previous = (int) links - 1;
        int next = (int) (links >>> 32) - 1;
        if (previous < 0) {
            journal.stageLow(listAt, next + 1);
        } else {
            journal.stageHigh(linksAt(previous), next + 1);
        }
        if (next >= 0) {
            journal.stageLow(linksAt(next), previous + 1);
        }
    }

    /** All units free, in one run. */
    void format() {
        memory.zero(layout.unitsAt, (long) layout.units * layout.unitEntryBytes);
        memory.word(stateAt(0), run(FREE, 0, layout.units));
        if (layout.units > 1) {
            memory.word(stateAt(layout.units - 1), run(FREE_END, 0, layout.units));
        }
        memory.word(C_FREE, (long) layout.units << 32 | 1);
        memory.word(C_FREE_SHORT, 0);
    }
}
