package io.holdfast.slab;

import java.util.Arrays;

/**
 * The slots of a region: first those whose pages are cut into chunks, then those of values that take a run of units, a
 * page being one or many units.
 *
 * <p>SEED has chunks of 2^n from 8 to half a page, a page is one unit, and a slot of runs for each power of two of pages.
 * ADAPTIVE loses less than an eighth to rounding at any size up to 64 pages: it cuts a page into n equal chunks, for those
 * n from 8 on that make sizes grow by at most 1.125, so that the end of a page is not lost either; larger values take runs of
 * units of a 64th of a page, in lengths that grow by 1.1, so that one that goes makes room for the next of its slot.
 */
final class SlotSizes {

    static final int PAGE_SHIFT_LEAST = 12;
    static final int PAGE_SHIFT_MOST = 21;
    private static final int ADAPTIVE_LEAST = 64;
    private static final double ADAPTIVE_STEP = 1.125;
    private static final double RUN_STEP = 1.1;
    private static final int CHUNKS_A_PAGE_LEAST = 8;
    /** Longer runs are as long as their values. */
    private static final int STEPPED_UNITS_MOST = 4096;

    private static final int ADAPTIVE_UNITS_SHIFT = 6;

    final int unitShift;
    /** Units of a page. */
    final int span;

    private final int[] chunks;
    private final byte[] slotOfEights;
    private final int pageShift;
    /** Lengths of the stepped slots of runs; empty for SEED. */
    private final int[] runs;

    private final byte[] runOfUnits;

    SlotSizes(Preset preset, int pageShift) {
        this.pageShift = pageShift;
        boolean seed = preset == Preset.SEED;
        this.unitShift = seed ? pageShift : pageShift - ADAPTIVE_UNITS_SHIFT;
        this.span = 1 << (pageShift - unitShift);
        this.chunks = seed ? powersOfTwo(pageShift) : evenCuts(pageShift);
        this.slotOfEights = places(chunks, 3);
        this.runs = seed ? new int[0] : stepped();
        this.runOfUnits = places(runs, 0);
    }

    /** For each size, counted in 2^shift, the number of the first that is as large. */
    private static byte[] places(int[] sizes, int shift) {
        byte[] places = new byte[sizes.length == 0 ? 0 : (sizes[sizes.length - 1] >>> shift) + 1];
        int place = 0;
        for (int i = 0; i < places.length; i++) {
            while (sizes[place] < i << shift) {
                place++;
            }
            places[i] = (byte) place;
        }
        return places;
    }

    private static int[] powersOfTwo(int pageShift) {
        int[] sizes = new int[pageShift - 3];
        Arrays.setAll(sizes, i -> 8 << i);
        return sizes;
    }

    private static int[] evenCuts(int pageShift) {
        int page = 1 << pageShift;
        int[] sizes = new int[SlabLayout.SLOTS];
        int count = 0;
        for (int chunks = page / ADAPTIVE_LEAST;
                chunks >= CHUNKS_A_PAGE_LEAST;
                chunks = Math.min(chunks - 1, (int) Math.ceil(chunks / ADAPTIVE_STEP))) {
            int chunk = page / chunks & ~7;
            if (count == 0 || chunk > sizes[count - 1]) {
                sizes[count++] = chunk;
            }
        }
        return Arrays.copyOf(sizes, count);
    }

    private int[] stepped() {
        int[] lengths = new int[SlabLayout.SLOTS];
        int count = 0;
        int length = span / CHUNKS_A_PAGE_LEAST + 1;
        while (length < STEPPED_UNITS_MOST) {
            lengths[count++] = length;
            length = Math.max(length + 1, (int) (length * RUN_STEP));
        }
        lengths[count++] = STEPPED_UNITS_MOST;
        return Arrays.copyOf(lengths, count);
    }

    /** How many slots have chunks; the slots from here on have runs. */
    int chunkSlots() {
        return chunks.length;
    }

    /** All slots that a region of so many units can use. */
    int slots(int units) {
        return chunks.length + runSlot(units) + 1;
    }

    int chunkBytes(int slot) {
        return chunks[slot];
    }

    int chunksPerPage(int slot) {
        return (1 << pageShift) / chunks[slot];
    }

    int largestChunk() {
        return chunks[chunks.length - 1];
    }

    boolean isRun(int slot) {
        return slot >= chunks.length;
    }

    int slotFor(long bytes) {
        return bytes <= largestChunk()
                ? slotOfEights[(int) (bytes + 7) >>> 3]
                : chunks.length + runSlot(unitsOf(bytes));
    }

    /** Which slot of runs, counted from the first. */
    private int runSlot(int units) {
        if (runs.length == 0) {
            return log2Ceiling(units);
        }
        return units <= STEPPED_UNITS_MOST
                ? runOfUnits[units]
                : runs.length + log2Ceiling(units) - log2Ceiling(STEPPED_UNITS_MOST) - 1;
    }

    private int unitsOf(long bytes) {
        return (int) ((bytes + (1L << unitShift) - 1) >>> unitShift);
    }

    /** How many units a value of this slot of runs takes. */
    int unitsFor(int slot, long bytes) {
        int run = slot - chunks.length;
        return run < runs.length ? runs[run] : unitsOf(bytes);
    }

    /** Whether a run of this slot can have this length. */
    boolean isLength(int slot, int units) {
        return isRun(slot)
                && slot == chunks.length + runSlot(units)
                && unitsFor(slot, (long) units << unitShift) == units;
    }

    /** The most bytes that a value of the slot can take. */
    long mostBytes(int slot) {
        if (!isRun(slot)) {
            return chunks[slot];
        }
        int run = slot - chunks.length;
        int beyond = run - runs.length;
        long units = run < runs.length ? runs[run] : runs.length == 0 ? 1L << run : (2L * STEPPED_UNITS_MOST) << beyond;
        return units << unitShift;
    }

    private static int log2Ceiling(int n) {
        return n <= 1 ? 0 : 32 - Integer.numberOfLeadingZeros(n - 1);
    }
}
