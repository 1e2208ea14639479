package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;

/**
 * The table of slots and their queues.
 *
 * <pre>
 *  +0   probation queue  newest (32) | oldest (32)     ADAPTIVE: values read at most once since they came
 *  +8   main queue       newest (32) | oldest (32)     SEED: the only one
 *  +16  items            probation (32) | main (32)
 *  +24  bytes            headers, keys and values of the items
 *  +32  open page + 1    first page of this slot with a free chunk
 *  +40  units of its pages and runs
 *  +48  stored, evicted, ghost hits, pages taken, pages given, hits     statistics, not journalled
 *  +96  evidence: reads, +104 epochs, +112 part that stays, +120 pages taken less pages given, of late
 *                                                      see AdaptiveEviction; not journalled
 * </pre>
 *
 * With policy lru one queue serves all slots: the main queue of slot 0.
 */
final class Slots {

    private static final int PROBATION = 0;
    private static final int MAIN = 8;
    private static final int ITEMS = 16;
    private static final int BYTES = 24;
    private static final int OPEN_PAGE = 32;
    private static final int UNITS = 40;
    private static final int EVIDENCE = 96;
    private static final double FLOW_FADING = 0.75;
    private static final double FLOW_LIMIT = 1 / (1 - FLOW_FADING) + 1;

    /** Statistics of a slot. */
    enum Tally {
        STORED(0),
        EVICTED(1),
        GHOST_HITS(2),
        PAGES_TAKEN(3),
        PAGES_GIVEN(4),
        /** Of sampled gets, and written without the lock: an estimate. */
        HITS(5);

        private final int index;

        Tally(int index) {
            this.index = index;
        }

        private long at(long slot) {
            return slot + 48 + index * 8L;
        }
    }

    private final Memory memory;
    private final SlabLayout layout;
    private final Items items;
    private final Journal journal;
    private final boolean oneQueue;
    final int count;

    Slots(Memory memory, SlabLayout layout, Items items, Journal journal) {
        this.memory = memory;
        this.layout = layout;
        this.items = items;
        this.journal = journal;
        this.oneQueue = layout.policy == Policy.LRU && layout.preset == Preset.SEED;
        this.count = layout.sizes.slots(layout.units);
    }

    private long at(int slot) {
        if (slot < 0 || slot >= count) {
            throw new HoldfastException(Category.CORRUPT, "there is no slot " + slot);
        }
        return layout.slotsAt + (long) slot * SlabLayout.SLOT_BYTES;
    }

    private long queueAt(int slot, boolean main) {
        return at(oneQueue ? 0 : slot) + (main ? MAIN : PROBATION);
    }

    long openPageAt(int slot) {
        return at(slot) + OPEN_PAGE;
    }

    long unitsAt(int slot) {
        return at(slot) + UNITS;
    }

    long bytesAt(int slot) {
        return at(slot) + BYTES;
    }

    int openPage(int slot) {
        return (int) memory.word(openPageAt(slot)) - 1;
    }

    long units(int slot) {
        return memory.word(unitsAt(slot));
    }

    long bytes(int slot) {
        return memory.word(bytesAt(slot));
    }

    int items(int slot, boolean main) {
        long word = memory.word(at(slot) + ITEMS);
        return main ? (int) (word >>> 32) : (int) word;
    }

    long items(int slot) {
        return (long) items(slot, false) + items(slot, true);
    }

    long tally(int slot, Tally tally) {
        return memory.word(tally.at(at(slot)));
    }

    void count(int slot, Tally tally) {
        long address = tally.at(at(slot));
        memory.word(address, memory.word(address) + 1);
    }

    /** Without the lock: two that add at the same instant may add one. */
    void addHits(int slot, long hits) {
        if (slot < count) {
            long address = Tally.HITS.at(at(slot));
            memory.opaque(address, memory.opaque(address) + hits);
        }
    }

    /** Adds an observation to what is known of the slot's next victims, and lets older ones fade. */
    void observe(int slot, double reads, double epochs, double fading) {
        long address = at(slot) + EVIDENCE;
        double allReads = Double.longBitsToDouble(memory.word(address)) * fading + reads;
        double allEpochs = Double.longBitsToDouble(memory.word(address + 8)) * fading + epochs;
        memory.word(address, Double.doubleToRawLongBits(allReads));
        memory.word(address + 8, Double.doubleToRawLongBits(allEpochs));
    }

    /** The part of the slot's values that were read before they left probation, or came back soon after. */
    double stays(int slot) {
        double part = Double.longBitsToDouble(memory.word(at(slot) + EVIDENCE + 16));
        return part >= 0 && part <= 1 ? part : 0;
    }

    void observeStay(int slot, boolean stayed, double fading) {
        double part = stays(slot) * fading + (stayed ? 1 - fading : 0);
        memory.word(at(slot) + EVIDENCE + 16, Double.doubleToRawLongBits(part));
    }

    /** Pages taken less pages given, where older ones count less. */
    double flow(int slot) {
        double flow = Double.longBitsToDouble(memory.word(at(slot) + EVIDENCE + 24));
        return flow > -FLOW_LIMIT && flow < FLOW_LIMIT ? flow : 0;
    }

    void flowed(int slot, int pages) {
        memory.word(at(slot) + EVIDENCE + 24, Double.doubleToRawLongBits(flow(slot) * FLOW_FADING + pages));
    }

    /** Reads per epoch of the values that were looked at lately; 0 if none was, or if the words make no sense. */
    double readsPerEpoch(int slot) {
        long address = at(slot) + EVIDENCE;
        double rate = Double.longBitsToDouble(memory.word(address)) / Double.longBitsToDouble(memory.word(address + 8));
        return rate >= 0 && rate < 1e9 ? rate : 0;
    }

    int newest(int slot, boolean main) {
        return (int) memory.word(queueAt(slot, main));
    }

    /** Reference of the value that has been in the queue for longest; 0 if the queue is empty. */
    int oldest(int slot, boolean main) {
        return (int) (memory.word(queueAt(slot, main)) >>> 32);
    }

    /** The slot whose queue holds the values of this one. */
    int queueOf(int slot) {
        return oneQueue ? 0 : slot;
    }

    /** Stages the chunk as the newest of a queue. A reserved chunk's own links need no before-image. */
    void stagePush(int slot, boolean main, long offset, boolean reserved) {
        long queue = queueAt(slot, main);
        int newest = (int) journal.read(queue);
        long links = (long) newest << 32;
        if (reserved) {
            memory.word(Items.linksAt(offset), links);
        } else {
            journal.stage(Items.linksAt(offset), links);
        }
        if (newest == 0) {
            journal.stageHigh(queue, Items.reference(offset));
        } else {
            journal.stageLow(Items.linksAt(items.offset(newest)), Items.reference(offset));
        }
        journal.stageLow(queue, Items.reference(offset));
        journal.stageAdd(at(slot) + ITEMS, main ? 1L << 32 : 1);
    }

    void stageTake(int slot, boolean main, long offset) {
        stageNeighbours(slot, main, offset, items.older(offset), items.newer(offset));
        journal.stageAdd(at(slot) + ITEMS, main ? -1L << 32 : -1);
    }

    /** Stages that the oldest values of the main queue, up to and with this one, are its newest, in their order. */
    void stageRotate(int slot, long last) {
        long queue = queueAt(slot, true);
        int oldest = oldest(slot, true);
        int newest = newest(slot, true);
        int after = items.newer(last);
        journal.stage(queue, (long) after << 32 | (Items.reference(last) & 0xffffffffL));
        journal.stageHigh(Items.linksAt(items.offset(after)), 0);
        journal.stageLow(Items.linksAt(items.offset(newest)), oldest);
        journal.stageHigh(Items.linksAt(items.offset(oldest)), newest);
        journal.stageLow(Items.linksAt(last), 0);
    }

    /** Stages another chunk in the place of this one; the other is reserved. */
    void stageReplace(int slot, boolean main, long offset, long other) {
        memory.word(Items.linksAt(other), memory.word(Items.linksAt(offset)));
        stageNeighbours(slot, main, offset, Items.reference(other), Items.reference(other));
    }

    /** What the newer neighbour shall see as older, and the older one as newer. */
    private void stageNeighbours(int slot, boolean main, long offset, int toNewer, int toOlder) {
        long queue = queueAt(slot, main);
        int newer = items.newer(offset);
        int older = items.older(offset);
        if (newer == 0) {
            journal.stageLow(queue, toNewer);
        } else {
            journal.stageHigh(Items.linksAt(items.offset(newer)), toNewer);
        }
        if (older == 0) {
            journal.stageHigh(queue, toOlder);
        } else {
            journal.stageLow(Items.linksAt(items.offset(older)), toOlder);
        }
    }

    /** Makes a slot as it was in a new file, but for its statistics. */
    void format(int slot) {
        memory.zero(at(slot), 48);
        memory.zero(at(slot) + EVIDENCE, 32);
    }
}
