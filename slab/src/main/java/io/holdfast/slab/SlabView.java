package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_VERSION;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** What tools see of a region. Taken without the lock, so that looking works while a process is stopped. */
final class SlabView {

    private SlabView() {}

    static SlabStats stats(SlabStore store) {
        Memory memory = store.memory;
        SlabLayout layout = store.layout;
        List<SlabStats.Slot> slots = new ArrayList<>();
        long items = 0;
        long bytes = 0;
        for (int i = 0; i < store.mutations.slots.count; i++) {
            SlabStats.Slot slot = slot(store, i);
            slots.add(slot);
            items += slot.items();
            bytes += slot.bytes();
        }
        List<SlabStats.AttachedProcess> processes = store.processes.list();
        return new SlabStats(
                layout.preset,
                layout.policy,
                layout.size,
                layout.pageBytes(),
                layout.pages,
                store.mutations.pages.freeUnits() / layout.sizes.span,
                items,
                bytes,
                memory.opaque(C_VERSION),
                Counter.PAST_HITS.read(memory)
                        + processes.stream()
                                .mapToLong(SlabStats.AttachedProcess::hits)
                                .sum(),
                Counter.PAST_MISSES.read(memory)
                        + processes.stream()
                                .mapToLong(SlabStats.AttachedProcess::misses)
                                .sum(),
                Counter.STORED.read(memory),
                Counter.REMOVED.read(memory),
                Counter.EVICTED.read(memory),
                Counter.LAPSED.read(memory),
                Counter.PAGE_MOVES.read(memory),
                Counter.MOST_EVICTED_BY_A_PUT.read(memory),
                Duration.ofNanos(Counter.LONGEST_HOLD_NANOS.read(memory)),
                Counter.THEFTS.read(memory),
                Counter.REPAIRS.read(memory),
                Counter.SALVAGES.read(memory),
                Counter.DROPPED.read(memory),
                store.namespaces.names(),
                slots,
                processes);
    }

    private static SlabStats.Slot slot(SlabStore store, int number) {
        Slots slots = store.mutations.slots;
        SlotSizes sizes = store.layout.sizes;
        return new SlabStats.Slot(
                number,
                sizes.mostBytes(number),
                sizes.isRun(number),
                slots.items(number),
                slots.items(number, true),
                slots.bytes(number),
                Math.ceilDiv(slots.units(number), (long) sizes.span),
                slots.tally(number, Slots.Tally.HITS),
                slots.tally(number, Slots.Tally.STORED),
                slots.tally(number, Slots.Tally.EVICTED),
                slots.tally(number, Slots.Tally.GHOST_HITS),
                slots.tally(number, Slots.Tally.PAGES_TAKEN),
                slots.tally(number, Slots.Tally.PAGES_GIVEN));
    }

    /** Page by page; one with large values is shown as of the first of them. Read without the lock: it may be torn. */
    static List<SlabPage> pages(SlabStore store) {
        Pages pages = store.mutations.pages;
        SlotSizes sizes = store.layout.sizes;
        SlabPage[] list = new SlabPage[store.layout.pages];
        int unit = 0;
        while (unit < store.layout.units) {
            long state = pages.state(unit);
            int kind = Pages.kind(state);
            int slot = kind == Pages.FREE ? -1 : Pages.slot(state);
            boolean cut = kind == Pages.CUT && slot < sizes.chunkSlots();
            int length = cut ? sizes.span : kind == Pages.FREE || kind == Pages.RUN ? Pages.length(state) : 1;
            int end = (int) Math.min((long) unit + Math.max(1, length), store.layout.units);
            for (int page = unit / sizes.span; page <= (end - 1) / sizes.span; page++) {
                if (list[page] == null || list[page].slot() < 0) {
                    int used = kind == Pages.FREE ? 0 : cut ? Pages.used(state) : 1;
                    int chunks = cut ? sizes.chunksPerPage(slot) : 1;
                    list[page] =
                            new SlabPage(page, slot, kind == Pages.RUN, used, chunks, used == 0 ? 0 : pages.born(unit));
                }
            }
            unit = end;
        }
        return List.of(list);
    }
}
