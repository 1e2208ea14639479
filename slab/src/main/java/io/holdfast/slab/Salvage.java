package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_DAMAGED;
import static io.holdfast.slab.SlabLayout.C_RESERVED;
import static io.holdfast.slab.SlabLayout.C_VERSION;

import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.BitSet;

/**
 * Rebuilds every table of a region from the values and the way to them. A value is kept where it lies if its checksum is
 * right, its page says that a chunk is there, and the index leads from its key to it; everything else is dropped. A value
 * that the index does not lead to was out of reach for puts and removes of its key, so it may be one that was replaced or
 * removed since.
 *
 * <p>C_DAMAGED says how far it has come, so that the next process goes on after one that died. While it is CHOOSING the
 * index is only read; then the checksums of what is dropped are erased. While it is REBUILDING every checksum that is right
 * is that of a kept value, and the index is written anew. Readers are shut out meanwhile.
 */
final class Salvage {

    private static final long CHOOSING = 1;
    /** Far from 0 and from CHOOSING, so that no damage of few bits makes one of the other. */
    private static final long REBUILDING = 0x7265_6275_696c_6421L;

    private final Mutations mutations;
    private final Memory memory;
    private final SlabLayout layout;
    private final Items items;
    private final Offsets kept = new Offsets();
    private final Offsets dropped = new Offsets();

    /** A list that grows. */
    private static final class Offsets {

        private long[] offsets = new long[1024];
        private int count;

        void add(long offset) {
            if (count == offsets.length) {
                offsets = Arrays.copyOf(offsets, count * 2);
            }
            offsets[count++] = offset;
        }
    }

    Salvage(Mutations mutations) {
        this.mutations = mutations;
        this.memory = mutations.memory;
        this.layout = mutations.layout;
        this.items = mutations.items;
    }

    void run() {
        boolean chosen = memory.word(C_DAMAGED) == REBUILDING;
        mutations.journal.clear();
        mutations.index.shutAll();
        if (!chosen) {
            memory.release(C_DAMAGED, CHOOSING);
        }
        long versions = collect(chosen);
        mutations.probe.at(Probe.Point.SALVAGE_COLLECTED);
        erase();
        memory.release(C_DAMAGED, REBUILDING);
        sortByVersion();
        formatTables();
        memory.word(C_VERSION, Math.max(memory.word(C_VERSION), versions) + layout.shards);
        mutations.probe.at(Probe.Point.SALVAGE_FORMATTED);
        relink();
        mutations.index.openAll();
        Counter.SALVAGES.add(memory, 1);
        memory.release(SlabLayout.C_UNVERIFIED, 0);
        memory.release(C_DAMAGED, 0);
    }

    /** Finds what can be kept; returns the highest version among it. */
    private long collect(boolean chosen) {
        long highest = 0;
        int unit = 0;
        while (unit < layout.units) {
            long state = mutations.pages.state(unit);
            int slot = Pages.slot(state);
            int length = 1;
            if (isPage(unit, state)) {
                int size = layout.sizes.chunkBytes(slot);
                int chunks = Math.min(Pages.carved(state), layout.sizes.chunksPerPage(slot));
                for (int i = 0; i < chunks; i++) {
                    highest = Math.max(highest, consider(layout.unitStart(unit) + (long) i * size, size, chosen));
                }
                length = layout.sizes.span;
            } else if (isRun(unit, state)) {
                long room = (long) Pages.length(state) << layout.sizes.unitShift;
                long version = consider(layout.unitStart(unit), room, chosen);
                highest = Math.max(highest, version);
                length = version > 0 ? Pages.length(state) : 1;
            } else if (Pages.kind(state) == Pages.CUT) {
                memory.word(mutations.pages.stateAt(unit), 0); // runs in it are not chunks of a page
            }
            unit += length;
        }
        return highest;
    }

    private boolean isPage(int unit, long state) {
        return Pages.kind(state) == Pages.CUT
                && unit % layout.sizes.span == 0
                && Pages.slot(state) < layout.sizes.chunkSlots();
    }

    private boolean isRun(int unit, long state) {
        return Pages.kind(state) == Pages.RUN
                && Pages.length(state) >= 1
                && Pages.length(state) <= layout.units - unit
                && layout.sizes.isLength(Pages.slot(state), Pages.length(state));
    }

    /** The version of the value if it is kept, else 0. */
    private long consider(long offset, long room, boolean chosen) {
        if (items.checksum(offset) == 0) {
            return 0;
        }
        long version = items.version(offset);
        if (version > 0 && items.isWhole(offset, room) && (chosen || isReachable(offset))) {
            kept.add(offset);
            return version;
        }
        dropped.add(offset);
        return 0;
    }

    private boolean isReachable(long offset) {
        long shape = items.shape(offset);
        try {
            return mutations.index.find(items.hash(offset), Items.namespace(shape), items.key(offset, shape)) == offset;
        } catch (RuntimeException e) {
            return false; // the way to it is damaged
        }
    }

    private void erase() {
        for (int i = 0; i < dropped.count; i++) {
            memory.word(dropped.offsets[i], 0);
        }
        Counter.DROPPED.add(memory, dropped.count);
        VarHandle.storeStoreFence();
    }

    private void sortByVersion() {
        Long[] boxed = new Long[kept.count];
        Arrays.setAll(boxed, i -> kept.offsets[i]);
        Arrays.sort(boxed, java.util.Comparator.comparingLong(items::version));
        Arrays.setAll(kept.offsets, i -> i < kept.count ? boxed[i] : 0);
    }

    /** Areas and slots anew, with the kept chunks as used and all others free. */
    private void formatTables() {
        long[] states = new long[layout.units];
        BitSet[] usedChunks = new BitSet[layout.pages];
        for (int i = 0; i < kept.count; i++) {
            int area = mutations.pages.areaOf(kept.offsets[i]);
            states[area] = mutations.pages.state(area);
            if (Pages.kind(states[area]) == Pages.CUT) {
                int page = area / layout.sizes.span;
                BitSet used = usedChunks[page] == null ? new BitSet() : usedChunks[page];
                int size = layout.sizes.chunkBytes(Pages.slot(states[area]));
                used.set((int) ((kept.offsets[i] - layout.unitStart(area)) / size));
                usedChunks[page] = used;
            }
        }
        memory.word(C_RESERVED, 0);
        memory.word(SlabLayout.C_REWRITING, 0);
        for (int slot = 0; slot < mutations.slots.count; slot++) {
            mutations.slots.format(slot);
        }
        // Written over, never emptied in between: a salvage that dies here must still find every area that holds
        // values.
        int unit = 0;
        int freeFrom = 0;
        memory.word(SlabLayout.C_FREE, 0);
        memory.word(SlabLayout.C_FREE_SHORT, 0);
        while (unit < layout.units) {
            boolean cut = Pages.kind(states[unit]) == Pages.CUT;
            int length = cut ? layout.sizes.span : Math.max(1, Pages.length(states[unit]));
            if (states[unit] != 0) {
                writeFreeRun(freeFrom, unit);
                if (cut) {
                    writePage(unit, states[unit], usedChunks[unit / layout.sizes.span]);
                } else {
                    writeRun(unit, states[unit]);
                }
                freeFrom = unit + length;
            }
            unit += length;
        }
        writeFreeRun(freeFrom, layout.units);
    }

    /** Nothing inside, and this at both ends. */
    private void writeEnds(int first, int length, long state, long end) {
        for (int i = 0; i < length; i++) {
            memory.word(mutations.pages.stateAt(first + i), i == 0 ? state : i == length - 1 ? end : 0);
        }
        memory.word(mutations.pages.linksAt(first), 0);
    }

    private void writeFreeRun(int from, int to) {
        if (from >= to) {
            return;
        }
        int length = to - from;
        writeEnds(from, length, Pages.run(Pages.FREE, 0, length), Pages.run(Pages.FREE_END, 0, length));
        list(from, mutations.pages.holdsPage(from, length) ? SlabLayout.C_FREE : SlabLayout.C_FREE_SHORT);
        add(SlabLayout.C_FREE, (long) length << 32);
    }

    private void list(int unit, long listAt) {
        int first = (int) memory.word(listAt) - 1;
        memory.word(mutations.pages.linksAt(unit), (long) (first + 1) << 32);
        if (first >= 0) {
            long links = mutations.pages.linksAt(first);
            memory.word(links, (memory.word(links) & 0xffffffff00000000L) | (unit + 1));
        }
        memory.word(listAt, (memory.word(listAt) & 0xffffffff00000000L) | (unit + 1));
    }

    private void writeRun(int unit, long state) {
        int length = Pages.length(state);
        int slot = Pages.slot(state);
        writeEnds(unit, length, state, Pages.run(Pages.RUN_END, slot, length));
        add(mutations.slots.unitsAt(slot), length);
    }

    private void writePage(int unit, long state, BitSet used) {
        int slot = Pages.slot(state);
        int span = layout.sizes.span;
        int size = layout.sizes.chunkBytes(slot);
        int capacity = layout.sizes.chunksPerPage(slot);
        int carved = Math.min(Pages.carved(state), capacity);
        int firstFree = 0;
        for (int chunk = carved - 1; chunk >= 0; chunk--) {
            if (!used.get(chunk)) {
                memory.word(layout.unitStart(unit) + (long) chunk * size, firstFree);
                firstFree = chunk + 1;
            }
        }
        long whole = Pages.cut(slot, firstFree, used.cardinality(), carved);
        writeEnds(unit, span, whole, Pages.run(Pages.CUT_END, slot, span));
        add(mutations.slots.unitsAt(slot), span);
        if (firstFree != 0 || carved < capacity) {
            list(unit, mutations.slots.openPageAt(slot));
        }
    }

    private void add(long at, long delta) {
        memory.word(at, memory.word(at) + delta);
    }

    /** Queues and chains, the oldest value first. */
    private void relink() {
        mutations.index.emptyAll();
        for (int i = 0; i < kept.count; i++) {
            long offset = kept.offsets[i];
            if (layout.preset == Preset.SEED) {
                // The flag of the queue is not under the checksum.
                memory.word(Items.shapeAt(offset), items.shape(offset) | Items.FLAG_MAIN);
            }
            mutations.link(offset, items.hash(offset), items.shape(offset), items.checksum(offset));
        }
    }
}
