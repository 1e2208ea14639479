package io.holdfast.slab;

import java.util.Arrays;

/**
 * The slots of a region: first those whose pages are cut into chunks, then one per power of two of pages for values that
 * take a run of pages.
 *
 * <p>SEED has chunks of 2^n from 8 to half a page. ADAPTIVE cuts a page into n equal chunks for those n that make sizes
 * grow by about 1.125, so that the end of a page is not lost either.
 */
final class SlotSizes {

    static final int PAGE_SHIFT_LEAST = 12;
    static final int PAGE_SHIFT_MOST = 21;
    private static final int ADAPTIVE_LEAST = 64;
    private static final double ADAPTIVE_STEP = 1.125;

    private final int[] chunks;
    private final byte[] slotOfEights;
    private final int pageShift;

    SlotSizes(Preset preset, int pageShift) {
        this.pageShift = pageShift;
        this.chunks = preset == Preset.SEED ? powersOfTwo(pageShift) : evenCuts(pageShift);
        this.slotOfEights = new byte[(largestChunk() >>> 3) + 1];
        int slot = 0;
        for (int eights = 0; eights < slotOfEights.length; eights++) {
            while (chunks[slot] < eights << 3) {
                slot++;
            }
            slotOfEights[eights] = (byte) slot;
        }
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
        double wanted = ADAPTIVE_LEAST;
        while (wanted <= page / 2.0) {
            int chunk = page / (int) (page / wanted) & ~7;
            if (count == 0 || chunk > sizes[count - 1]) {
                sizes[count++] = chunk;
            }
            wanted = Math.max(wanted * ADAPTIVE_STEP, chunk + 8);
        }
        if (sizes[count - 1] < page / 2) {
            sizes[count++] = page / 2;
        }
        return Arrays.copyOf(sizes, count);
    }

    /** How many slots have chunks; the slots from here on are runs of 1, 2, 4, 8 ... pages. */
    int chunkSlots() {
        return chunks.length;
    }

    /** All slots that a region of so many pages can use. */
    int slots(int pages) {
        return chunks.length + 1 + log2Ceiling(pages);
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
                : chunks.length + log2Ceiling(pagesFor(bytes));
    }

    int pagesFor(long bytes) {
        return (int) ((bytes + (1L << pageShift) - 1) >>> pageShift);
    }

    private static int log2Ceiling(int n) {
        return n <= 1 ? 0 : 32 - Integer.numberOfLeadingZeros(n - 1);
    }
}
