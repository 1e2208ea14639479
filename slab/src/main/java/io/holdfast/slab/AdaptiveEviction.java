package io.holdfast.slab;

import java.util.Arrays;
import java.util.function.LongPredicate;

/**
 * Eviction by evidence.
 *
 * <p><b>Within a slot</b> all values have the same size, and two queues in order of arrival decide: a new value starts
 * on probation, and goes from there unless it was read meanwhile; one that was read, or that comes back soon after it
 * was evicted, is in the main queue, where every read buys another round. A scan passes through probation and leaves the
 * main queue alone.
 *
 * <p><b>Between slots</b> whole pages move, to where they earn more hits. What the last page of a slot earns is
 * estimated from the values that are next to go: (values per page) x (reads they had) / (epochs since the last of them).
 * A value that was never read counts as many reads as values of its slot usually get before they leave probation, so a
 * slot that is written and never read earns nothing, however young its values. When a slot needs room and another one's
 * last page earns much less than its own, that page is cleared and changes hands: the values in it that were read lately
 * move to other chunks of their slot in place of colder ones. A put evicts at most as many values as one page holds, or
 * as the pages hold that a large value needs.
 *
 * <p>The evidence is kept in the region, so that all processes act on what any of them has seen.
 */
final class AdaptiveEviction implements Eviction {

    /** A page moves only if it will earn so many times more. */
    private static final double MARGIN = 4;
    /** And so many times more again if it would go back. */
    private static final double REGRET_MOST = 4;

    private static final double FLOW_MOST = 2;
    /** One in so many of a slot's values are on probation, when there are others. */
    private static final int PROBATION_PART = 10;
    /** How often read on probation makes a value stay. */
    private static final int READS_TO_STAY = 1;

    private static final int SECOND_CHANCES_MOST = 64;
    private static final int OLDEST_LOOKED_AT = 2;
    /** How much an observation counts after the next one. */
    private static final double FADING = 0.98;
    /** What a value that was never read counts at least, in reads: less, and chance decides between slots of a scan. */
    private static final double UNREAD_LEAST = 0.06;

    private static final int GHOST_EPOCHS_MOST = 128;
    private static final int TRIES_MOST = 4;
    private static final double NO_LIMIT = Double.MAX_VALUE;
    private static final double PRICE_MOST = 1e100;
    private static final boolean[] QUEUES = {true, false};

    private final Mutations mutations;
    private final Slots slots;
    private final Pages pages;
    private final Items items;
    private final SlabLayout layout;
    private final Recency.Marks marks;
    private final LongPredicate gone;
    private final Ghosts ghosts;
    private final int[] untilLook;
    private final double[] earnings;
    private int looked;

    /** @param gone whether the value at an offset has lapsed or was cleared */
    AdaptiveEviction(Mutations mutations, Recency.Marks marks, LongPredicate gone) {
        this.mutations = mutations;
        this.slots = mutations.slots;
        this.pages = mutations.pages;
        this.items = mutations.items;
        this.layout = mutations.layout;
        this.marks = marks;
        this.gone = gone;
        this.ghosts = new Ghosts(mutations.memory, GHOST_EPOCHS_MOST);
        this.untilLook = new int[slots.count];
        this.earnings = new double[slots.count];
        Arrays.fill(earnings, Double.MAX_VALUE);
    }

    @Override
    public boolean startsInMain(long hash, int slot) {
        if (!ghosts.recall(mutations.index.lineAt(hash), hash, marks.epoch())) {
            return false;
        }
        slots.count(slot, Slots.Tally.GHOST_HITS);
        slots.observeStay(slot, true, FADING);
        return true;
    }

    @Override
    public long reserve(int slot, long bytes, long pinned) {
        for (int tries = 0; tries < TRIES_MOST; tries++) {
            long offset = mutations.reserveFree(slot, bytes);
            if (offset != 0) {
                return offset;
            }
            if (isTimeToLook(slot) && takeFromAnother(slot, bytes, pinned)) {
                continue;
            }
            long own = victim(slot, pinned);
            if (own != 0 && isAsLong(own, slot, bytes)) {
                return evictInto(own);
            }
            boolean cleared = own != 0 && clearAround(pages.areaOf(own), slot, bytes, pinned, NO_LIMIT);
            if (!cleared && !takeFromCheapest(slot, bytes, pinned)) {
                return 0;
            }
        }
        return 0;
    }

    /** Only runs of the largest slots differ in length. */
    private boolean isAsLong(long victim, int slot, long bytes) {
        return !layout.sizes.isRun(slot)
                || pages.areaLength(pages.areaOf(victim)) == layout.sizes.unitsFor(slot, bytes);
    }

    /** A slot that was given a page may want the next as soon as it is full; one that was refused looks less often. */
    private boolean isTimeToLook(int slot) {
        if (slots.items(slot) > 0 && --untilLook[slot] > 0) {
            return false;
        }
        untilLook[slot] = layout.sizes.isRun(slot) ? 1 : Math.max(1, layout.sizes.chunksPerPage(slot) / 4);
        return true;
    }

    private void remember(long victim, long hash) {
        if (!Items.isMain(items.shape(victim)) && !gone.test(victim)) {
            ghosts.remember(mutations.index.lineAt(hash), hash, marks.epoch());
        }
    }

    private long evictInto(long victim) {
        long hash = items.hash(victim);
        remember(victim, hash);
        return mutations.evictInto(victim, hash);
    }

    /**
     * The value of the slot that goes next; 0 if there is none but the pinned one. Values that were read get their
     * second chance on the way, and all that are looked at are evidence.
     */
    private long victim(int slot, long pinned) {
        long useless = goneOf(slot, pinned);
        if (useless != 0) {
            return useless;
        }
        for (int chances = 0; chances <= 2 * SECOND_CHANCES_MOST; chances++) {
            int probation = slots.items(slot, false);
            int main = slots.items(slot, true);
            if (probation + main == 0) {
                return 0;
            }
            if (isMainNext(probation, main)) {
                return victimOfMain(slot, pinned);
            }
            long offset = items.offset(slots.oldest(slot, false));
            long head = mutations.index.headOf(offset);
            int frequency = marks.frequency(head);
            observe(slot, head, false, frequency);
            slots.observeStay(slot, frequency > 0, FADING);
            boolean read = frequency >= READS_TO_STAY;
            if (offset != pinned && (!read || chances >= SECOND_CHANCES_MOST)) {
                return offset;
            }
            if (offset == pinned && probation + main == 1) {
                return 0;
            }
            if (read) {
                marks.setFrequency(head, 0);
            }
            mutations.promote(offset);
        }
        return 0;
    }

    /** The oldest value of either queue, if it has lapsed or was cleared: no read buys it another round; 0 if neither has. */
    private long goneOf(int slot, long pinned) {
        for (boolean main : QUEUES) {
            int oldest = slots.oldest(slot, main);
            long offset = oldest == 0 ? pinned : items.offset(oldest);
            if (offset != pinned && gone.test(offset)) {
                return offset;
            }
        }
        return 0;
    }

    /** As above, of the main queue. Those that go round do so together, by one micro-operation. */
    private long victimOfMain(int slot, long pinned) {
        long goRound = 0;
        long offset = items.offset(slots.oldest(slot, true));
        for (int chances = 0; ; chances++) {
            long head = mutations.index.headOf(offset);
            int frequency = marks.frequency(head);
            observe(slot, head, true, frequency);
            if (offset != pinned && (frequency == 0 || chances >= SECOND_CHANCES_MOST)) {
                break;
            }
            if (frequency > 0) {
                marks.setFrequency(head, frequency - 1);
            }
            int newer = items.newer(offset);
            if (chances >= 2 * SECOND_CHANCES_MOST || (offset == pinned && newer == 0 && goRound == 0)) {
                return 0;
            }
            // All of them round is none of them round.
            goRound = newer == 0 ? 0 : offset;
            offset = items.offset(newer == 0 ? slots.oldest(slot, true) : newer);
        }
        if (goRound != 0) {
            mutations.rotate(slot, goRound);
        }
        return offset;
    }

    private static boolean isMainNext(int probation, int main) {
        return probation == 0 || (main > 0 && (long) probation * PROBATION_PART < probation + main);
    }

    @Override
    public int likelyVictim(int slot) {
        if (slots.openPage(slot) >= 0 || pages.firstFreeRun(true) >= 0) {
            return 0;
        }
        return slots.oldest(slot, isMainNext(slots.items(slot, false), slots.items(slot, true)));
    }

    /** What the last page of a slot earns, in hits per epoch. */
    private double earns(int slot) {
        if (slots.items(slot) == 0 || goneOf(slot, 0) != 0) {
            return 0;
        }
        double perPage = layout.sizes.isRun(slot)
                ? (double) slots.items(slot) * pages.span / Math.max(1, slots.units(slot))
                : layout.sizes.chunksPerPage(slot);
        return perPage * slots.readsPerEpoch(slot);
    }

    private void observe(int slot, long head, boolean main, int frequency) {
        double prior = main ? 1 : Math.max(UNREAD_LEAST, slots.stays(slot));
        slots.observe(slot, prior + 0.5 * frequency, marks.age(head) + 1, FADING);
    }

    /** Looks at the oldest values of the next slot in turn, which may not have evicted for long. */
    private void lookAtNextSlot() {
        for (int i = 0; i < slots.count; i++) {
            looked = looked + 1 >= slots.count ? 0 : looked + 1;
            if (slots.items(looked) > 0) {
                break;
            }
        }
        int main = slots.items(looked, true);
        int probation = slots.items(looked, false);
        boolean fromMain = main >= probation;
        int reference = slots.oldest(looked, fromMain);
        for (int i = 0; i < OLDEST_LOOKED_AT && reference != 0; i++) {
            long offset = items.offset(reference);
            long head = mutations.index.headOf(offset);
            observe(looked, head, fromMain, marks.frequency(head));
            reference = items.newer(offset);
        }
        refresh(looked);
    }

    /** Clears room among values that earn much less than those of the slot; false if there are none. */
    private boolean takeFromAnother(int slot, long bytes, long pinned) {
        lookAtNextSlot();
        double own = slots.items(slot) == 0 ? NO_LIMIT : earns(slot) / regret(-slots.flow(slot)) / MARGIN;
        int giver = giverTo(slot, own);
        int area = giver < 0 ? -1 : coldestArea(giver, pinned);
        if (area < 0 || !clearAround(area, slot, bytes, pinned, own * unitsWanted(slot, bytes) / pages.span)) {
            return false;
        }
        untilLook[slot] = 0;
        moved(giver, slot);
        return true;
    }

    /** Clears room where it costs least, whatever the slot's own values earn; false if the pinned value is in the way. */
    private boolean takeFromCheapest(int slot, long bytes, long pinned) {
        boolean[] refused = new boolean[slots.count];
        for (int i = 0; i < slots.count; i++) {
            refresh(i);
        }
        while (true) {
            int giver = -1;
            for (int i = 0; i < slots.count; i++) {
                if (!refused[i] && slots.items(i) > 0 && (giver < 0 || earnings[i] < earnings[giver])) {
                    giver = i;
                }
            }
            if (giver < 0) {
                return false;
            }
            int area = coldestArea(giver, pinned);
            if (area >= 0 && clearAround(area, slot, bytes, pinned, NO_LIMIT)) {
                moved(giver, slot);
                return true;
            }
            refused[giver] = true;
        }
    }

    private void moved(int giver, int slot) {
        slots.count(giver, Slots.Tally.PAGES_GIVEN);
        slots.count(slot, Slots.Tally.PAGES_TAKEN);
        slots.flowed(giver, -1);
        slots.flowed(slot, 1);
        Counter.PAGE_MOVES.add(mutations.memory, 1);
    }

    /** What a page must earn more to go back where it came from: pages that go to and fro follow chance. */
    private static double regret(double flow) {
        return flow <= 0 ? 1 : flow >= FLOW_MOST ? REGRET_MOST : Math.pow(REGRET_MOST, flow / FLOW_MOST);
    }

    /**
     * The slot whose last page earns least, and less than the limit; -1 if there is none. Goes by what was known of each
     * slot when it was last looked at, and looks at the one it finds again.
     */
    private int giverTo(int slot, double limit) {
        double[] known = earnings;
        while (true) {
            int giver = -1;
            double least = limit;
            for (int other = 0; other < known.length; other++) {
                if (known[other] < least && other != slot) {
                    double asked = known[other] * regret(slots.flow(other));
                    if (asked < least) {
                        least = asked;
                        giver = other;
                    }
                }
            }
            if (giver < 0 || !refresh(giver) || known[giver] * regret(slots.flow(giver)) <= least) {
                return giver;
            }
        }
    }

    /** False if what was known of the slot is still so. */
    private boolean refresh(int slot) {
        double before = earnings[slot];
        earnings[slot] = slots.units(slot) > 0 ? earns(slot) : Double.MAX_VALUE;
        return earnings[slot] != before;
    }

    /** The area that holds the slot's next victim, unless the pinned value lives there; -1 if there is none. */
    private int coldestArea(int slot, long pinned) {
        for (boolean main : QUEUES) {
            int reference = slots.oldest(slot, main);
            for (int steps = 0; reference != 0 && steps < 16; steps++) {
                long offset = items.offset(reference);
                int area = pages.areaOf(offset);
                if (pinned == 0 || area != pages.areaOf(pinned)) {
                    return area;
                }
                reference = items.newer(offset);
            }
        }
        return -1;
    }

    private int unitsWanted(int slot, long bytes) {
        return layout.sizes.isRun(slot) ? layout.sizes.unitsFor(slot, bytes) : pages.span;
    }

    /**
     * Clears as many units in a row as a value of the slot needs, or the page that the area lies in: the area and its
     * neighbours, the cheaper one first. False, and nothing is cleared, if that costs more hits per epoch than allowed, or
     * the pinned value.
     */
    private boolean clearAround(int area, int slot, long bytes, long pinned, double limit) {
        int first = area;
        int end = area + pages.areaLength(area);
        double cost = price(area, pinned);
        if (layout.sizes.isRun(slot)) {
            int wanted = layout.sizes.unitsFor(slot, bytes);
            while (end - first < wanted && cost <= limit && cost < NO_LIMIT) {
                int before = first > 0 ? pages.areaBefore(first) : first;
                double left = first > 0 ? price(before, pinned) : NO_LIMIT;
                double right = end < layout.units ? price(end, pinned) : NO_LIMIT;
                cost += Math.min(left, right);
                if (left < right) {
                    first = before;
                } else if (right < NO_LIMIT) {
                    end += pages.areaLength(end);
                }
            }
        } else {
            int page = area & -pages.span;
            while (first > page) {
                first = pages.areaBefore(first);
                cost += price(first, pinned);
            }
            while (end < page + pages.span) {
                cost += price(end, pinned);
                end += pages.areaLength(end);
            }
        }
        if (cost > limit || cost >= NO_LIMIT) {
            return false;
        }
        clear(first, end, pinned);
        return true;
    }

    /** What an area earns, in hits per epoch. */
    private double price(int area, long pinned) {
        long state = pages.state(area);
        if (Pages.kind(state) == Pages.FREE) {
            return 0;
        }
        if (pinned != 0 && pages.areaOf(pinned) == area) {
            return NO_LIMIT;
        }
        if (Pages.kind(state) == Pages.CUT) {
            return Math.min(earns(Pages.slot(state)), PRICE_MOST);
        }
        long offset = layout.unitStart(area);
        if (gone.test(offset)) {
            return 0;
        }
        // There is but one value, so it is asked itself.
        long head = mutations.index.headOf(offset);
        double prior = Math.max(UNREAD_LEAST, slots.stays(Pages.slot(state)));
        int frequency = marks.frequency(head);
        return ((frequency > 0 ? 1 : prior) + 0.5 * frequency) / (marks.age(head) + 1);
    }

    /** Clears all areas from here to there; those that hold values begin where they did until they are cleared. */
    private void clear(int first, int end, long pinned) {
        int[] areas = new int[end - first];
        int count = 0;
        for (int unit = first; unit < end; unit += pages.areaLength(unit)) {
            if (Pages.kind(pages.state(unit)) != Pages.FREE) {
                areas[count++] = unit;
            }
        }
        for (int i = 0; i < count; i++) {
            clear(areas[i], pinned);
        }
    }

    /** Empties a page that has a value in it: cold ones are evicted, hot ones change places with colder ones. */
    private void clear(int page, long pinned) {
        long state = pages.state(page);
        int slot = Pages.slot(state);
        if (Pages.kind(state) == Pages.RUN) {
            evictRemembered(layout.unitStart(page));
            return;
        }
        long size = pages.room(layout.unitStart(page));
        int left = Pages.used(state);
        for (int chunk = 0; left > 0 && chunk < Pages.carved(state); chunk++) {
            long offset = layout.unitStart(page) + chunk * size;
            if (items.checksum(offset) == 0) {
                continue;
            }
            left--;
            if (!rescue(offset, slot, page, pinned)) {
                evictRemembered(offset);
            }
        }
    }

    private void evictRemembered(long offset) {
        remember(offset, items.hash(offset));
        mutations.evict(offset);
    }

    /** Moves a value that was read lately into another page of its slot, for a colder one if none is free. */
    private boolean rescue(long offset, int slot, int page, long pinned) {
        if (gone.test(offset) || marks.frequency(mutations.index.headOf(offset)) == 0 || !mutations.isTrusted(offset)) {
            return false;
        }
        long to = pages.reserveChunk(slot, page);
        if (to == 0) {
            long colder = colderOutside(slot, page, pinned);
            if (colder == 0) {
                return false;
            }
            to = evictInto(colder);
        }
        mutations.relocate(offset, to);
        return true;
    }

    /** A value among the oldest few of the slot that was not read and is not in the page; 0 if there is none. */
    private long colderOutside(int slot, int page, long pinned) {
        for (boolean main : new boolean[] {false, true}) {
            int reference = slots.oldest(slot, main);
            for (int steps = 0; reference != 0 && steps < 8; steps++) {
                long offset = items.offset(reference);
                if (offset != pinned
                        && pages.areaOf(offset) != page
                        && marks.frequency(mutations.index.headOf(offset)) == 0) {
                    return offset;
                }
                reference = items.newer(offset);
            }
        }
        return 0;
    }
}
