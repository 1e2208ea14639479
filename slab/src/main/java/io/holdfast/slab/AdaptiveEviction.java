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
        long offset = mutations.reserveFree(slot, bytes);
        if (offset != 0) {
            return offset;
        }
        if (layout.sizes.isRun(slot)) {
            return clearWindow(layout.sizes.pagesFor(bytes), pinned) ? mutations.reserveFree(slot, bytes) : 0;
        }
        long own = isTimeToLook(slot) && takePageFromAnother(slot, pinned) ? 0 : victim(slot, pinned);
        if (own != 0) {
            return evictInto(own);
        }
        offset = mutations.reserveFree(slot, bytes);
        if (offset == 0 && clearWindow(1, pinned)) {
            offset = mutations.reserveFree(slot, bytes);
        }
        return offset;
    }

    /** A slot that was given a page may want the next as soon as it is full; one that was refused looks less often. */
    private boolean isTimeToLook(int slot) {
        if (slots.items(slot) > 0 && --untilLook[slot] > 0) {
            return false;
        }
        untilLook[slot] = Math.max(1, layout.sizes.chunksPerPage(slot) / 4);
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
        if (layout.sizes.isRun(slot) || slots.openPage(slot) >= 0 || pages.freePages() > 0) {
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
                ? (double) slots.items(slot) / Math.max(1, slots.pages(slot))
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

    private boolean takePageFromAnother(int slot, long pinned) {
        lookAtNextSlot();
        double own = slots.items(slot) == 0 ? Double.MAX_VALUE : earns(slot) / regret(-slots.flow(slot));
        int giver = giverTo(slot, own / MARGIN);
        if (giver < 0) {
            return false;
        }
        int page = coldestPage(giver, pinned);
        if (page < 0) {
            return false;
        }
        clear(page, pinned);
        untilLook[slot] = 0;
        slots.count(giver, Slots.Tally.PAGES_GIVEN);
        slots.count(slot, Slots.Tally.PAGES_TAKEN);
        slots.flowed(giver, -1);
        slots.flowed(slot, 1);
        Counter.PAGE_MOVES.add(mutations.memory, 1);
        return true;
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
        earnings[slot] = slots.pages(slot) > 0 ? earns(slot) : Double.MAX_VALUE;
        return earnings[slot] != before;
    }

    /** The page that holds the slot's next victim, unless the pinned value lives there; -1 if there is none. */
    private int coldestPage(int slot, long pinned) {
        for (boolean main : QUEUES) {
            int reference = slots.oldest(slot, main);
            for (int steps = 0; reference != 0 && steps < 16; steps++) {
                long offset = items.offset(reference);
                int page = layout.pageOf(offset);
                if (pinned == 0 || page != layout.pageOf(pinned)) {
                    return page;
                }
                reference = items.newer(offset);
            }
        }
        return -1;
    }

    /** Empties a page that has a value in it: cold ones are evicted, hot ones change places with colder ones. */
    private void clear(int page, long pinned) {
        long state = pages.state(page);
        int slot = Pages.slot(state);
        if (Pages.kind(state) == Pages.RUN) {
            evictRemembered(layout.pageStart(page));
            return;
        }
        int size = layout.sizes.chunkBytes(slot);
        int left = Pages.used(state);
        for (int chunk = 0; left > 0 && chunk < Pages.carved(state); chunk++) {
            long offset = layout.pageStart(page) + (long) chunk * size;
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
        if (gone.test(offset) || marks.frequency(mutations.index.headOf(offset)) == 0) {
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
                        && layout.pageOf(offset) != page
                        && marks.frequency(mutations.index.headOf(offset)) == 0) {
                    return offset;
                }
                reference = items.newer(offset);
            }
        }
        return 0;
    }

    /** Clears so many pages in a row, those that earn least; false if the pinned value is in the way everywhere. */
    private boolean clearWindow(int length, long pinned) {
        for (int slot = 0; slot < slots.count; slot++) {
            refresh(slot);
        }
        int best = -1;
        double least = Double.MAX_VALUE;
        double[] recent = new double[length];
        double sum = 0;
        int allowed = 0;
        double earned = 0;
        int runLeft = 0;
        for (int page = 0; page < layout.pages; page++) {
            if (runLeft == 0) {
                long state = pages.state(page);
                boolean cut = Pages.kind(state) == Pages.CUT;
                runLeft = cut ? 1 : Pages.length(state);
                earned = Pages.kind(state) == Pages.FREE
                        ? 0
                        : (cut ? earnings[Pages.slot(state)] : runEarns(page, state)) + 1e-9;
                boolean holdsPinned =
                        pinned != 0 && layout.pageOf(pinned) >= page && layout.pageOf(pinned) < page + runLeft;
                earned = holdsPinned ? -1 : earned;
            }
            runLeft--;
            allowed = earned < 0 ? 0 : allowed + 1;
            sum += Math.max(earned, 0) - recent[page % length];
            recent[page % length] = Math.max(earned, 0);
            if (allowed >= length && sum < least) {
                least = sum;
                best = page - length + 1;
            }
        }
        Arrays.fill(recent, 0);
        if (best < 0) {
            return false;
        }
        clearPages(best, length, pinned);
        return true;
    }

    /** What each page of a run earns: there is but one value, so it is asked itself. */
    private double runEarns(int page, long state) {
        long offset = layout.pageStart(page);
        long head = mutations.index.headOf(offset);
        double prior = Math.max(UNREAD_LEAST, slots.stays(Pages.slot(state)));
        int frequency = marks.frequency(head);
        return ((frequency > 0 ? 1 : prior) + 0.5 * frequency) / (marks.age(head) + 1) / Pages.length(state);
    }

    private void clearPages(int first, int length, long pinned) {
        int page = 0;
        while (page < first + length) {
            long state = pages.state(page);
            int after = page + (Pages.kind(state) == Pages.CUT ? 1 : Pages.length(state));
            if (after > first && Pages.kind(state) != Pages.FREE) {
                clear(page, pinned);
                // Free neighbours are one run now: find the place again from the start of what is joined.
                page = 0;
            } else {
                page = after;
            }
        }
    }
}
