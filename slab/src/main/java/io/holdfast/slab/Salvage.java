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
        int page = 0;
        while (page < layout.pages) {
            long state = mutations.pages.state(page);
            int slot = Pages.slot(state);
            int length = 1;
            if (Pages.kind(state) == Pages.CUT && slot < layout.sizes.chunkSlots()) {
                int size = layout.sizes.chunkBytes(slot);
                int chunks = Math.min(Pages.carved(state), layout.sizes.chunksPerPage(slot));
                for (int i = 0; i < chunks; i++) {
                    highest = Math.max(highest, consider(layout.pageStart(page) + (long) i * size, size));
                }
            } else if (Pages.kind(state) == Pages.RUN
                    && Pages.length(state) >= 1
                    && Pages.length(state) <= layout.pages - page
                    && slot == layout.sizes.slotFor((long) Pages.length(state) << layout.pageShift)) {
                long bytes = (long) Pages.length(state) << layout.pageShift;
                long version = consider(layout.pageStart(page), bytes);
                highest = Math.max(highest, version);
                length = version > 0 ? Pages.length(state) : 1;
            }
            page += length;
        }
        return highest;
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

    /** Page states and slots anew, with the kept chunks as used and all others free. */
    private void formatTables() {
        long[] states = new long[layout.pages];
        BitSet[] usedChunks = new BitSet[layout.pages];
        for (int i = 0; i < count; i++) {
            int page = layout.pageOf(kept[i]);
            states[page] = mutations.pages.state(page);
            if (Pages.kind(states[page]) == Pages.CUT) {
                BitSet used = usedChunks[page] == null ? new BitSet() : usedChunks[page];
                used.set(
                        (int) ((kept[i] - layout.pageStart(page)) / layout.sizes.chunkBytes(Pages.slot(states[page]))));
                usedChunks[page] = used;
            }
        }
        memory.word(C_RESERVED, 0);
        memory.word(SlabLayout.C_REWRITING, 0);
        for (int slot = 0; slot < mutations.slots.count; slot++) {
            mutations.slots.format(slot);
        }
        // Written over, never emptied in between: a salvage that dies here must still find every page that holds
        // values.
        int page = 0;
        int freeFrom = 0;
        memory.word(SlabLayout.C_FREE, 0);
        while (page < layout.pages) {
            int length = Pages.kind(states[page]) == Pages.RUN ? Pages.length(states[page]) : 1;
            if (states[page] != 0) {
                writeFreeRun(freeFrom, page);
                writeUsed(page, states[page], usedChunks[page]);
                freeFrom = page + length;
            }
            page += length;
        }
        writeFreeRun(freeFrom, layout.pages);
    }

    private void writeFreeRun(int from, int to) {
        if (from >= to) {
            return;
        }
        int length = to - from;
        for (int page = from; page < to; page++) {
            memory.word(mutations.pages.stateAt(page), 0);
            memory.word(mutations.pages.stateAt(page) + 8, 0);
        }
        memory.word(mutations.pages.stateAt(from), Pages.run(Pages.FREE, 0, length));
        if (length > 1) {
            memory.word(mutations.pages.stateAt(to - 1), Pages.run(Pages.FREE_END, 0, length));
        }
        list(from, SlabLayout.C_FREE);
        memory.word(SlabLayout.C_FREE, memory.word(SlabLayout.C_FREE) + ((long) length << 32));
    }

    private void list(int page, long listAt) {
        int first = (int) memory.word(listAt) - 1;
        memory.word(mutations.pages.stateAt(page) + 8, (long) (first + 1) << 32);
        if (first >= 0) {
            long links = mutations.pages.stateAt(first) + 8;
            memory.word(links, (memory.word(links) & 0xffffffff00000000L) | (page + 1));
        }
        memory.word(listAt, (memory.word(listAt) & 0xffffffff00000000L) | (page + 1));
    }

    private void writeUsed(int page, long state, BitSet used) {
        int slot = Pages.slot(state);
        long at = mutations.pages.stateAt(page);
        memory.word(at + 8, 0);
        if (Pages.kind(state) == Pages.RUN) {
            int length = Pages.length(state);
            for (int i = 1; i < length; i++) {
                memory.word(at + (long) i * SlabLayout.PAGE_ENTRY_BYTES, 0);
            }
            if (length > 1) {
                memory.word(mutations.pages.stateAt(page + length - 1), Pages.run(Pages.RUN_END, slot, length));
            }
            add(mutations.slots.pagesAt(slot), length);
            return;
        }
        int size = layout.sizes.chunkBytes(slot);
        int capacity = layout.sizes.chunksPerPage(slot);
        int carved = Math.min(Pages.carved(state), capacity);
        int firstFree = 0;
        for (int chunk = carved - 1; chunk >= 0; chunk--) {
            if (!used.get(chunk)) {
                memory.word(layout.pageStart(page) + (long) chunk * size, firstFree);
                firstFree = chunk + 1;
            }
        }
        memory.word(at, Pages.cut(slot, firstFree, used.cardinality(), carved));
        add(mutations.slots.pagesAt(slot), 1);
        if (firstFree != 0 || carved < capacity) {
            list(page, mutations.slots.openPageAt(slot));
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
