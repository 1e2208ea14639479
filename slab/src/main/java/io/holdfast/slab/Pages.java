package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_FREE;
import static io.holdfast.slab.SlabLayout.C_RESERVED;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;

/**
 * Who has which page: chunks of a slot, a run for one large value, or nobody. Free pages lie in runs that are joined
 * with their neighbours; both ends of a run tell its length.
 *
 * <pre>
 *  +0   state   CUT:   kind (4) . slot (8) at 48 . first free chunk + 1 (16) at 32 . used (16) at 16 . carved (16)
 *               FREE:  kind (4) . length (32)         first page of a free run
 *               RUN:   kind (4) . slot (8) . length (32)  first page of a large value
 *               *_END: kind (4) . length (32)         last page of a run of two or more; 0 in between
 *  +8   links   previous + 1 (32) | next + 1 (32)     CUT with room: the slot's open pages; FREE: the free runs
 *  +16  born    version of the region when the page was given to its slot
 * </pre>
 *
 * A chunk is in exactly one of three states: free in its page, used by a value in the index, or <em>reserved</em>: named
 * by one half of C_RESERVED while a mutation carries it in or out. Every method that changes something is one
 * micro-operation of the {@link Journal}, and leaves all of this true.
 */
final class Pages {

    static final int FREE = 1;
    static final int FREE_END = 2;
    static final int RUN = 3;
    static final int RUN_END = 4;
    static final int CUT = 5;

    private final Memory memory;
    private final SlabLayout layout;
    private final Slots slots;
    private final Journal journal;
    private final Probe probe;

    Pages(Memory memory, SlabLayout layout, Slots slots, Journal journal, Probe probe) {
        this.memory = memory;
        this.layout = layout;
        this.slots = slots;
        this.journal = journal;
        this.probe = probe;
    }

    long stateAt(int page) {
        if (page < 0 || page >= layout.pages) {
            throw new HoldfastException(Category.CORRUPT, "there is no page " + page);
        }
        return layout.pagesAt + (long) page * SlabLayout.PAGE_ENTRY_BYTES;
    }

    private long linksAt(int page) {
        return stateAt(page) + 8;
    }

    long state(int page) {
        return memory.word(stateAt(page));
    }

    int previous(int page) {
        return (int) memory.word(linksAt(page)) - 1;
    }

    int next(int page) {
        return (int) (memory.word(linksAt(page)) >>> 32) - 1;
    }

    long born(int page) {
        return memory.word(stateAt(page) + 16);
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

    int freePages() {
        return (int) (memory.word(C_FREE) >>> 32);
    }

    int firstFreeRun() {
        return (int) memory.word(C_FREE) - 1;
    }

    /** Bytes that the chunk at the offset may use. */
    long room(long offset) {
        long state = state(layout.pageOf(offset));
        return kind(state) == CUT ? layout.sizes.chunkBytes(slot(state)) : (long) length(state) << layout.pageShift;
    }

    int slotOf(long offset) {
        return slot(state(layout.pageOf(offset)));
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
            throw new HoldfastException(Category.CORRUPT, "page " + page + " is not of slot " + slot);
        }
        int capacity = layout.sizes.chunksPerPage(slot);
        int chunk;
        int firstFree = firstFree(state);
        int carved = carved(state);
        if (firstFree != 0) {
            chunk = firstFree - 1;
            firstFree = (int) memory.word(chunkAt(page, slot, chunk)) & 0xffff;
        } else {
            chunk = carved++;
            if (chunk >= capacity) {
                throw new HoldfastException(Category.CORRUPT, "page " + page + " is listed as open and is full");
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
            throw new HoldfastException(Category.CORRUPT, "page " + page + " has no chunk " + chunk);
        }
        return layout.pageStart(page) + (long) chunk * layout.sizes.chunkBytes(slot);
    }

    /** Gives a free page to the slot; false if no page is free. */
    boolean takePage(int slot) {
        int first = firstFreeRun();
        if (first < 0) {
            return false;
        }
        int length = freeLength(first);
        int page = first + length - 1;
        if (length == 1) {
            stageUnlist(first, C_FREE);
        } else {
            stageFreeRun(first, length - 1);
        }
        journal.stageAdd(C_FREE, -1L << 32);
        journal.stage(stateAt(page), cut(slot, 0, 0, 0));
        stageList(page, slots.openPageAt(slot));
        journal.stageAdd(slots.pagesAt(slot), 1);
        memory.word(stateAt(page) + 16, memory.word(SlabLayout.C_VERSION));
        journal.commit();
        probe.at(Probe.Point.PAGE_TAKEN);
        return true;
    }

    /** Reserves so many pages in a row for a large value; 0 if no free run is long enough. */
    long reserveRun(int slot, int length) {
        int first = firstFreeRun();
        for (int steps = 0; first >= 0; first = next(first), steps++) {
            if (steps > layout.pages) {
                throw new HoldfastException(Category.CORRUPT, "the list of free runs has no end");
            }
            int available = freeLength(first);
            if (available >= length) {
                return reserveRun(slot, length, first, available);
            }
        }
        return 0;
    }

    private long reserveRun(int slot, int length, int first, int available) {
        int page = first + available - length;
        if (available == length) {
            stageUnlist(first, C_FREE);
            journal.stage(linksAt(first), 0);
        } else {
            stageFreeRun(first, available - length);
        }
        journal.stageAdd(C_FREE, -(long) length << 32);
        journal.stage(stateAt(page), run(RUN, slot, length));
        if (length > 1) {
            journal.stage(stateAt(page + length - 1), run(RUN_END, slot, length));
        }
        journal.stageAdd(slots.pagesAt(slot), length);
        journal.stageLow(C_RESERVED, Items.reference(layout.pageStart(page)));
        memory.word(layout.pageStart(page), 0);
        memory.word(stateAt(page) + 16, memory.word(SlabLayout.C_VERSION));
        journal.commit();
        probe.at(Probe.Point.CHUNK_RESERVED);
        return layout.pageStart(page);
    }

    /** Frees the chunk that a half of C_RESERVED names, and the page with it if it was the last one used. */
    void freeReserved(boolean outgoing) {
        long word = memory.word(C_RESERVED);
        long offset = ((outgoing ? word >>> 32 : word) & 0xffffffffL) << 3;
        if (!layout.holdsItem(offset)) {
            throw new HoldfastException(Category.CORRUPT, "offset " + offset + " is reserved");
        }
        int page = layout.pageOf(offset);
        long state = state(page);
        if (kind(state) == RUN) {
            memory.word(offset, 0);
            stageReserved(outgoing);
            freeRun(page, length(state), slot(state));
        } else if (kind(state) == CUT) {
            freeChunk(page, state, offset, outgoing);
        } else {
            throw new HoldfastException(Category.CORRUPT, "a chunk of page " + page + " is reserved, which has none");
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
        int slot = slot(state);
        int size = layout.sizes.chunkBytes(slot);
        long within = offset - layout.pageStart(page);
        int chunk = (int) (within / size);
        if (within % size != 0 || chunk >= carved(state) || used(state) == 0) {
            throw new HoldfastException(Category.CORRUPT, "offset " + offset + " is no used chunk of page " + page);
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
    void freePage(int page, int slot) {
        stageUnlist(page, slots.openPageAt(slot));
        freeRun(page, 1, slot);
    }

    private void freeRun(int first, int length, int slot) {
        journal.stageAdd(slots.pagesAt(slot), -length);
        stageFreeRun(first, length);
        stageList(first, C_FREE);
        journal.stageAdd(C_FREE, (long) length << 32);
        journal.commit();
        probe.at(Probe.Point.PAGE_FREED);
        joinAround(first);
    }

    /** Joins a free run with the free runs before and after it. */
    private void joinAround(int first) {
        int following = first + freeLength(first);
        if (following < layout.pages && kind(state(following)) == FREE) {
            join(first, following);
        }
        if (first > 0) {
            long before = state(first - 1);
            int previous = kind(before) == FREE ? first - 1 : kind(before) == FREE_END ? first - length(before) : -1;
            if (previous >= 0) {
                join(previous, first);
            }
        }
    }

    private void join(int first, int second) {
        int length = freeLength(first);
        int added = freeLength(second);
        if (first + length != second) {
            throw new HoldfastException(Category.CORRUPT, "free runs at " + first + " and " + second + " overlap");
        }
        stageUnlist(second, C_FREE);
        journal.stage(linksAt(second), 0);
        if (length > 1) {
            journal.stage(stateAt(second - 1), 0);
        }
        if (added > 1) {
            journal.stage(stateAt(second), 0);
        }
        stageFreeRun(first, length + added);
        journal.commit();
    }

    /** What a crash between two micro-operations leaves undone: neighbours not joined, empty pages not given back. */
    void tidy() {
        for (int page = 0; page < layout.pages; ) {
            long state = state(page);
            int kind = kind(state);
            if (kind == CUT) {
                if (used(state) == 0) {
                    freePage(page, slot(state));
                    page = 0; // what was free around it is one run now
                } else {
                    page++;
                }
            } else {
                int length = kind == FREE || kind == RUN ? length(state) : 0;
                if (length < 1 || length > layout.pages - page) {
                    throw new HoldfastException(Category.CORRUPT, "page " + page + " has state " + kind);
                }
                page += length;
            }
        }
        int page = 0;
        while (page < layout.pages) {
            long state = state(page);
            int following = page + (kind(state) == CUT ? 1 : length(state));
            if (kind(state) == FREE && following < layout.pages && kind(state(following)) == FREE) {
                join(page, following);
            } else {
                page = following;
            }
        }
    }

    /** Whether a used or reserved chunk begins at the offset. */
    boolean isChunk(long offset) {
        if (!layout.holdsItem(offset)) {
            return false;
        }
        int page = layout.pageOf(offset);
        long state = state(page);
        long within = offset - layout.pageStart(page);
        if (kind(state) != CUT) {
            return kind(state) == RUN && within == 0;
        }
        int size = layout.sizes.chunkBytes(slot(state));
        return within % size == 0 && within / size < carved(state);
    }

    int freeLength(int first) {
        long state = state(first);
        int length = length(state);
        if (kind(state) != FREE || length < 1 || length > layout.pages - first) {
            throw new HoldfastException(Category.CORRUPT, "page " + first + " is listed as free and is not");
        }
        return length;
    }

    private void stageFreeRun(int first, int length) {
        journal.stage(stateAt(first), run(FREE, 0, length));
        if (length > 1) {
            journal.stage(stateAt(first + length - 1), run(FREE_END, 0, length));
        }
    }

    /** Puts a page at the front of the list whose first page + 1 is the lower half of the word. */
    private void stageList(int page, long listAt) {
        int first = (int) journal.read(listAt) - 1;
        journal.stage(linksAt(page), (long) (first + 1) << 32);
        if (first >= 0) {
            journal.stageLow(linksAt(first), page + 1);
        }
        journal.stageLow(listAt, page + 1);
    }

    private void stageUnlist(int page, long listAt) {
        int previous = previous(page);
        int next = next(page);
        if (previous < 0) {
            journal.stageLow(listAt, next + 1);
        } else {
            journal.stageHigh(linksAt(previous), next + 1);
        }
        if (next >= 0) {
            journal.stageLow(linksAt(next), previous + 1);
        }
    }

    /** All pages free, in one run. */
    void format() {
        memory.zero(layout.pagesAt, (long) layout.pages * SlabLayout.PAGE_ENTRY_BYTES);
        memory.word(stateAt(0), run(FREE, 0, layout.pages));
        if (layout.pages > 1) {
            memory.word(stateAt(layout.pages - 1), run(FREE_END, 0, layout.pages));
        }
        memory.word(C_FREE, (long) layout.pages << 32 | 1);
    }
}
