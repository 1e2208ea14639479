package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_DAMAGED;
import static io.holdfast.slab.SlabLayout.C_RESERVED;
import static io.holdfast.slab.SlabLayout.C_VERSION;

import java.util.Arrays;
import java.util.BitSet;

/**
 * Rebuilds every table of a region from the values alone: what has a right checksum where its page says a chunk is, is
 * kept where it lies; everything else is dropped. It begins by writing down that the region is damaged and ends by
 * taking that back, so that one that dies on the way is done again from the start. Readers are shut out meanwhile.
 */
final class Salvage {

    private final Mutations mutations;
    private final Memory memory;
    private final SlabLayout layout;
    private final Items items;
    private long[] kept = new long[1024];
    private int count;

    Salvage(Mutations mutations) {
        this.mutations = mutations;
        this.memory = mutations.memory;
        this.layout = mutations.layout;
        this.items = mutations.items;
    }

    void run() {
        memory.release(C_DAMAGED, 1);
        mutations.journal.clear();
        mutations.index.shutAndEmptyAll();
        long versions = collect();
        mutations.probe.at(Probe.Point.SALVAGE_COLLECTED);
        dropShadowed();
        formatTables();
        memory.word(C_VERSION, Math.max(memory.word(C_VERSION), versions) + 1);
        mutations.probe.at(Probe.Point.SALVAGE_FORMATTED);
        relink();
        mutations.index.openAll();
        Counter.SALVAGES.add(memory, 1);
        memory.release(SlabLayout.C_UNVERIFIED, 0);
        memory.release(C_DAMAGED, 0);
    }

    private void keep(long offset) {
        if (count == kept.length) {
            kept = Arrays.copyOf(kept, count * 2);
        }
        kept[count++] = offset;
    }

    /** Finds what can be kept; returns the highest version among it. */
    private long collect() {
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
                    highest = Math.max(highest, consider(layout.unitStart(unit) + (long) i * size, size));
                }
                length = layout.sizes.span;
            } else if (isRun(unit, state)) {
                long version = consider(layout.unitStart(unit), (long) Pages.length(state) << layout.sizes.unitShift);
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

    private long consider(long offset, long room) {
        long version = items.version(offset);
        if (!items.isWhole(offset, room) || version <= 0) {
            Counter.DROPPED.add(memory, items.checksum(offset) == 0 ? 0 : 1);
            return 0;
        }
        keep(offset);
        return version;
    }

    /** Of two values with one key only the later was ever to be seen. Uses the emptied index to find them. */
    private void dropShadowed() {
        sortByVersion();
        int left = 0;
        BitSet dropped = new BitSet();
        for (int i = count - 1; i >= 0; i--) {
            long hash = items.hash(kept[i]);
            long shape = items.shape(kept[i]);
            if (mutations.index.find(hash, Items.namespace(shape), items.key(kept[i], shape)) != 0) {
                dropped.set(i);
                memory.word(kept[i], 0);
                Counter.DROPPED.add(memory, 1);
            } else {
                mutations.index.stageLink(hash, kept[i], items.checksum(kept[i]));
                mutations.journal.commit();
            }
        }
        for (int i = 0; i < count; i++) {
            if (!dropped.get(i)) {
                kept[left++] = kept[i];
            }
        }
        count = left;
    }

    private void sortByVersion() {
        Long[] boxed = new Long[count];
        Arrays.setAll(boxed, i -> kept[i]);
        Arrays.sort(boxed, java.util.Comparator.comparingLong(items::version));
        for (int i = 0; i < count; i++) {
            kept[i] = boxed[i];
        }
    }

    /** Areas and slots anew, with the kept chunks as used and all others free. */
    private void formatTables() {
        long[] states = new long[layout.units];
        BitSet[] usedChunks = new BitSet[layout.pages];
        for (int i = 0; i < count; i++) {
            int area = mutations.pages.areaOf(kept[i]);
            states[area] = mutations.pages.state(area);
            if (Pages.kind(states[area]) == Pages.CUT) {
                int page = area / layout.sizes.span;
                BitSet used = usedChunks[page] == null ? new BitSet() : usedChunks[page];
                int size = layout.sizes.chunkBytes(Pages.slot(states[area]));
                used.set((int) ((kept[i] - layout.unitStart(area)) / size));
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
        mutations.index.shutAndEmptyAll();
        for (int i = 0; i < count; i++) {
            long offset = kept[i];
            if (layout.preset == Preset.SEED) {
                // The flag of the queue is not under the checksum.
                memory.word(Items.shapeAt(offset), items.shape(offset) | Items.FLAG_MAIN);
            }
            mutations.link(offset, items.hash(offset), items.shape(offset), items.checksum(offset));
        }
    }
}
