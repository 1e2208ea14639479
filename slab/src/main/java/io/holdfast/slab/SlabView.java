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
                store.mutations.pages.freePages(),
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
        boolean run = sizes.isRun(number);
        long chunk = run ? (long) store.layout.pageBytes() << (number - sizes.chunkSlots()) : sizes.chunkBytes(number);
        return new SlabStats.Slot(
                number,
                chunk,
                run,
                slots.items(number),
                slots.items(number, true),
                slots.bytes(number),
                slots.pages(number),
                slots.tally(number, Slots.Tally.HITS),
                slots.tally(number, Slots.Tally.STORED),
                slots.tally(number, Slots.Tally.EVICTED),
                slots.tally(number, Slots.Tally.GHOST_HITS),
                slots.tally(number, Slots.Tally.PAGES_TAKEN),
                slots.tally(number, Slots.Tally.PAGES_GIVEN));
    }

    static List<SlabPage> pages(SlabStore store) {
        Pages pages = store.mutations.pages;
        List<SlabPage> list = new ArrayList<>();
        int page = 0;
        while (page < store.layout.pages) {
            long state = pages.state(page);
            boolean cut = Pages.kind(state) == Pages.CUT;
            boolean free = Pages.kind(state) == Pages.FREE;
            int length = cut ? 1 : Math.max(1, Math.min(Pages.length(state), store.layout.pages - page));
            int slot = free ? -1 : Pages.slot(state);
            int chunks = cut && slot < store.layout.sizes.chunkSlots() ? store.layout.sizes.chunksPerPage(slot) : 1;
            for (int i = 0; i < length; i++) {
                int used = free ? 0 : cut ? Pages.used(state) : 1;
                list.add(new SlabPage(page + i, slot, !cut && !free, used, chunks, pages.born(page)));
            }
            page += length;
        }
        return list;
    }
}
