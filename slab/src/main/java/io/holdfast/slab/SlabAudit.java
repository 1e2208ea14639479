package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_JOURNAL;
import static io.holdfast.slab.SlabLayout.C_RESERVED;
import static io.holdfast.slab.SlabLayout.C_VERSION;

import io.holdfast.HoldfastException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * Walks a whole region three times, by pages, by index and by queues, and compares what it meets with every counter.
 * Trusts nothing, changes nothing. Only under the region's lock.
 */
final class SlabAudit {

    private static final int PROBLEMS_MOST = 100;
    private static final int GRAIN_SHIFT = 5;

    private final Mutations mutations;
    private final Memory memory;
    private final SlabLayout layout;
    private final Items items;
    private final Slots slots;
    private final Pages pages;
    private final List<String> problems = new ArrayList<>();
    private final BitSet live = new BitSet();
    private final long[] liveBySlot;
    private final long[] bytesBySlot;
    private final long[] unitsBySlot;
    private int freeUnits;

    SlabAudit(Mutations mutations) {
        this.mutations = mutations;
        this.memory = mutations.memory;
        this.layout = mutations.layout;
        this.items = mutations.items;
        this.slots = mutations.slots;
        this.pages = mutations.pages;
        this.liveBySlot = new long[slots.count];
        this.bytesBySlot = new long[slots.count];
        this.unitsBySlot = new long[slots.count];
    }

    AuditReport run() {
        try {
            expect(memory.word(C_JOURNAL) == 0, "the journal is not empty");
            expect(memory.word(C_RESERVED) == 0, "a chunk is reserved");
            expect(memory.word(SlabLayout.C_REWRITING) == 0, "a value is being rewritten");
            expect(memory.word(SlabLayout.C_DAMAGED) == 0, "a salvage did not end");
            BitSet freeRuns = new BitSet();
            BitSet openPages = new BitSet();
            walkAreas(freeRuns, openPages);
            walkFreeRuns(freeRuns);
            walkOpenPages(openPages);
            walkIndex();
            walkQueues();
            compareCounts();
        } catch (HoldfastException | IndexOutOfBoundsException e) {
            problems.add(String.valueOf(e.getMessage()));
        }
        return new AuditReport(
                Arrays.stream(liveBySlot).sum(),
                Arrays.stream(bytesBySlot).sum(),
                layout.pages - freeUnits / layout.sizes.span,
                freeUnits / layout.sizes.span,
                List.copyOf(problems));
    }

    private void expect(boolean holds, String otherwise) {
        if (!holds && problems.size() < PROBLEMS_MOST) {
            problems.add(otherwise);
        }
    }

    private int grain(long offset) {
        return (int) ((offset - layout.dataAt) >>> GRAIN_SHIFT);
    }

    private void walkAreas(BitSet freeRuns, BitSet openPages) {
        boolean afterFree = false;
        int unit = 0;
        while (unit < layout.units) {
            long state = pages.state(unit);
            int kind = Pages.kind(state);
            int slot = Pages.slot(state);
            int length = pages.areaLength(unit);
            if (kind != Pages.FREE && (slot >= slots.count || layout.sizes.isRun(slot) != (kind == Pages.RUN))) {
                expect(false, "unit " + unit + " has an impossible state " + Long.toHexString(state));
                return;
            }
            expect(pages.areaBefore(unit + length) == unit, "the area at unit " + unit + " does not end where it says");
            expect(!(afterFree && kind == Pages.FREE), "free runs before unit " + unit + " are not joined");
            afterFree = kind == Pages.FREE;
            if (kind == Pages.FREE) {
                freeRuns.set(unit);
                freeUnits += length;
            } else {
                unitsBySlot[slot] += length;
                if (kind == Pages.RUN) {
                    walkRun(unit, slot, length);
                } else if (walkChunks(unit, slot, state)) {
                    openPages.set(unit);
                }
            }
            unit += length;
        }
    }

    private void walkRun(int unit, int slot, int length) {
        long offset = layout.unitStart(unit);
        expect(items.checksum(offset) != 0, "the run at unit " + unit + " holds no value");
        meet(offset, slot, (long) length << layout.sizes.unitShift);
        expect(layout.sizes.isLength(slot, length), "the run at unit " + unit + " is in the wrong slot");
    }

    /** Whether the page has a free chunk. */
    private boolean walkChunks(int page, int slot, long state) {
        int capacity = layout.sizes.chunksPerPage(slot);
        int size = layout.sizes.chunkBytes(slot);
        int carved = Pages.carved(state);
        BitSet free = new BitSet();
        int chunk = Pages.firstFree(state);
        while (chunk != 0) {
            if (chunk > carved || chunk > capacity || free.get(chunk - 1)) {
                expect(false, "page " + page + " has a broken list of free chunks");
                return false;
            }
            free.set(chunk - 1);
            chunk = (int) memory.word(layout.unitStart(page) + (long) (chunk - 1) * size) & 0xffff;
        }
        expect(carved <= capacity, "page " + page + " has more chunks than fit");
        int used = 0;
        for (int i = 0; i < Math.min(carved, capacity); i++) {
            long offset = layout.unitStart(page) + (long) i * size;
            boolean holds = items.checksum(offset) != 0;
            expect(holds != free.get(i), "chunk " + i + " of page " + page + " is neither free nor used, or both");
            if (holds && !free.get(i)) {
                used++;
                meet(offset, slot, size);
            }
        }
        expect(used == Pages.used(state), "page " + page + " counts " + Pages.used(state) + " values, has " + used);
        return !free.isEmpty() || carved < capacity;
    }

    private void meet(long offset, int slot, long room) {
        expect(items.isWhole(offset, room), "the value at offset " + offset + " has a wrong checksum");
        expect(
                items.version(offset) <= memory.word(C_VERSION) && items.version(offset) > 0,
                "the value at offset " + offset + " is of version " + items.version(offset));
        live.set(grain(offset));
        liveBySlot[slot]++;
        bytesBySlot[slot] += Items.bytes(items.shape(offset));
    }

    private void walkFreeRuns(BitSet freeRuns) {
        BitSet met = walkList(pages.firstFreeRun(true), "free runs with a page");
        BitSet shorter = walkList(pages.firstFreeRun(false), "short free runs");
        for (int run = freeRuns.nextSetBit(0); run >= 0; run = freeRuns.nextSetBit(run + 1)) {
            expect(
                    pages.holdsPage(run, pages.freeLength(run)) == met.get(run),
                    "the free run at unit " + run + " is in the wrong list");
        }
        met.or(shorter);
        expect(met.equals(freeRuns), "the lists of free runs are not the free runs");
        expect(pages.freeUnits() == freeUnits, "free units: counted " + pages.freeUnits() + ", are " + freeUnits);
    }

    private void walkOpenPages(BitSet openPages) {
        BitSet met = new BitSet();
        for (int slot = 0; slot < layout.sizes.chunkSlots(); slot++) {
            BitSet ofSlot = walkList(slots.openPage(slot), "open pages of slot " + slot);
            for (int page = ofSlot.nextSetBit(0); page >= 0; page = ofSlot.nextSetBit(page + 1)) {
                expect(Pages.slot(pages.state(page)) == slot, "page " + page + " is open in slot " + slot);
            }
            met.or(ofSlot);
        }
        expect(met.equals(openPages), "the lists of open pages are not the pages with room");
    }

    private BitSet walkList(int first, String name) {
        BitSet met = new BitSet();
        int before = -1;
        for (int page = first; page >= 0; page = pages.next(page)) {
            if (page >= layout.units || met.get(page)) {
                expect(false, "the list of " + name + " is broken");
                break;
            }
            met.set(page);
            expect(pages.previous(page) == before, "the list of " + name + " is broken at page " + page);
            before = page;
        }
        return met;
    }

    private void walkIndex() {
        BitSet met = new BitSet();
        for (long i = 0; i < layout.lines; i++) {
            long line = layout.indexAt + i * SlabLayout.LINE_BYTES;
            expect((memory.word(line) & 1) == 0, "line " + i + " of the index is shut");
            List<long[]> keys = new ArrayList<>();
            for (int head = 1; head <= SlabLayout.HEADS; head++) {
                walkChain(line, line + head * 8L, met, keys);
            }
        }
        expect(met.equals(live), "the index does not lead to every value");
    }

    private void walkChain(long line, long headAt, BitSet met, List<long[]> keys) {
        long head = memory.word(headAt);
        int reference = (int) head;
        int place = 0;
        for (; reference != 0; place++) {
            long offset = (reference & 0xffffffffL) << 3;
            if (!pages.isChunk(offset) || !live.get(grain(offset)) || met.get(grain(offset))) {
                expect(false, "the chain at " + headAt + " leads to offset " + offset + ", which is wrong");
                return;
            }
            met.set(grain(offset));
            long hash = items.hash(offset);
            expect(
                    mutations.index.lineAt(hash) == line && (place == 0 || Index.homeAt(line, hash) == headAt),
                    "the value at offset " + offset + " is in the wrong chain");
            expect(
                    place > 0 || Index.describes(head, hash, items.shape(offset)),
                    "the head at " + headAt + " has the wrong tag or length");
            expect(isNewIn(keys, hash, offset), "the key at offset " + offset + " is there twice");
            keys.add(new long[] {hash, offset});
            reference = items.next(offset);
        }
        expect(place < 2 || (head & Index.MORE) != 0, "the head at " + headAt + " hides its chain");
    }

    private boolean isNewIn(List<long[]> keys, long hash, long offset) {
        long shape = items.shape(offset);
        for (long[] other : keys) {
            long otherShape = items.shape(other[1]);
            if (other[0] == hash
                    && Items.namespace(shape) == Items.namespace(otherShape)
                    && Arrays.equals(items.key(offset, shape), items.key(other[1], otherShape))) {
                return false;
            }
        }
        return true;
    }

    private void walkQueues() {
        BitSet met = new BitSet();
        for (int slot = 0; slot < slots.count; slot++) {
            if (slots.queueOf(slot) == slot) {
                walkQueue(slot, false, met);
                walkQueue(slot, true, met);
            }
        }
        expect(met.equals(live), "the queues do not hold every value");
    }

    private void walkQueue(int queue, boolean main, BitSet met) {
        long[] bySlot = new long[slots.count];
        int before = 0;
        int reference = slots.newest(queue, main);
        while (reference != 0) {
            long offset = (reference & 0xffffffffL) << 3;
            if (!pages.isChunk(offset) || !live.get(grain(offset)) || met.get(grain(offset))) {
                expect(false, "queue " + queue + " leads to offset " + offset + ", which is wrong");
                return;
            }
            met.set(grain(offset));
            int slot = pages.slotOf(offset);
            bySlot[slot]++;
            expect(
                    slots.queueOf(slot) == queue && Items.isMain(items.shape(offset)) == main,
                    "the value at offset " + offset + " is in the wrong queue");
            expect(items.newer(offset) == before, "queue " + queue + " is broken at offset " + offset);
            before = reference;
            reference = items.older(offset);
        }
        expect(slots.oldest(queue, main) == before, "queue " + queue + " ends elsewhere than it says");
        for (int slot = 0; slot < slots.count; slot++) {
            if (slots.queueOf(slot) == queue) {
                expect(
                        slots.items(slot, main) == bySlot[slot],
                        "slot " + slot + " counts " + slots.items(slot, main) + " in a queue of " + bySlot[slot]);
            }
        }
    }

    private void compareCounts() {
        for (int slot = 0; slot < slots.count; slot++) {
            expect(slots.items(slot) == liveBySlot[slot], "slot " + slot + " miscounts its values");
            expect(slots.bytes(slot) == bytesBySlot[slot], "slot " + slot + " miscounts its bytes");
            expect(slots.units(slot) == unitsBySlot[slot], "slot " + slot + " miscounts its units");
        }
    }
}
