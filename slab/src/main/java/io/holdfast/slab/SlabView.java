package io.holdfast.slab;

import static io.holdfast.slab.SlabLayout.C_VERSION;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/** What tools see of a region. Taken without the lock, so that looking works while a process is stopped. */
final class SlabView {

    private SlabView() {}

    static SlabStats stats(Shards shards) {
        SlabLayout layout = shards.layout;
        List<SlabStore> stores = shards.all();
        List<SlabStats.Slot> slots = new ArrayList<>();
        for (int i = 0; i < stores.getFirst().mutations.slots.count; i++) {
            int number = i;
            slots.add(stores.stream()
                    .map(store -> slot(store, number))
                    .reduce(SlabStats.Slot::plus)
                    .orElseThrow());
        }
        List<SlabStats.AttachedProcess> processes = processes(stores);
        return new SlabStats(
                layout.preset,
                layout.policy,
                layout.fileBytes(),
                layout.shards,
                layout.pageBytes(),
                layout.pages * layout.shards,
                (int) sum(stores, store -> store.mutations.pages.freeUnits() / layout.sizes.span),
                slots.stream().mapToLong(SlabStats.Slot::items).sum(),
                slots.stream().mapToLong(SlabStats.Slot::bytes).sum(),
                most(stores, store -> store.memory.opaque(C_VERSION)),
                sum(stores, Counter.PAST_HITS)
                        + processes.stream()
                                .mapToLong(SlabStats.AttachedProcess::hits)
                                .sum(),
                sum(stores, Counter.PAST_MISSES)
                        + processes.stream()
                                .mapToLong(SlabStats.AttachedProcess::misses)
                                .sum(),
                sum(stores, Counter.STORED),
                sum(stores, Counter.REMOVED),
                sum(stores, Counter.EVICTED),
                sum(stores, Counter.LAPSED),
                sum(stores, Counter.PAGE_MOVES),
                most(stores, store -> Counter.MOST_EVICTED_BY_A_PUT.read(store.memory)),
                Duration.ofNanos(most(stores, store -> Counter.LONGEST_HOLD_NANOS.read(store.memory))),
                sum(stores, Counter.THEFTS),
                sum(stores, Counter.REPAIRS),
                sum(stores, Counter.SALVAGES),
                sum(stores, Counter.DROPPED),
                shards.namespaces(),
                slots,
                processes);
    }

    private static long sum(List<SlabStore> stores, ToLongFunction<SlabStore> figure) {
        return stores.stream().mapToLong(figure).sum();
    }

    private static long sum(List<SlabStore> stores, Counter counter) {
        return sum(stores, store -> counter.read(store.memory));
    }

    private static long most(List<SlabStore> stores, ToLongFunction<SlabStore> figure) {
        return stores.stream().mapToLong(figure).max().orElseThrow();
    }

    /** Each process once, with what it did in all shards. */
    private static List<SlabStats.AttachedProcess> processes(List<SlabStore> stores) {
        Map<Long, SlabStats.AttachedProcess> byName = new LinkedHashMap<>();
        for (SlabStore store : stores) {
            store.processes
                    .byName()
                    .forEach((name, process) -> byName.merge(name, process, SlabStats.AttachedProcess::plus));
        }
        return List.copyOf(byName.values());
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

    /** The pages of all shards, one shard after the other. */
    static List<SlabPage> pages(Shards shards) {
        List<SlabPage> pages = new ArrayList<>();
        shards.all().forEach(store -> pages.addAll(pages(store, pages.size())));
        return pages;
    }

    /** Page by page; one with large values is shown as of the first of them. Read without the lock: it may be torn. */
    private static List<SlabPage> pages(SlabStore store, int before) {
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
                    list[page] = new SlabPage(
                            before + page, slot, kind == Pages.RUN, used, chunks, used == 0 ? 0 : pages.born(unit));
                }
            }
            unit = end;
        }
        return List.of(list);
    }
}
