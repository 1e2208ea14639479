package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;

/**
 * Checks a region that no process watched over, a few areas and lines at a time, while it is in use. Every value must have
 * its checksum, be found under its key, and have neighbours in its queue that know it; every chain must lead to chunks.
 * What is written after the begin is written by living processes, and right. Until the end gets check each value
 * themselves. Only under the region's lock; CORRUPT if anything is wrong.
 */
final class Verification {

    private final Mutations mutations;
    private final SlabLayout layout;
    private final Items items;
    private final Pages pages;
    private int unit;
    private long line;

    Verification(Mutations mutations) {
        this.mutations = mutations;
        this.layout = mutations.layout;
        this.items = mutations.items;
        this.pages = mutations.pages;
    }

    /** Goes on for so many bytes of values; true at the end. */
    boolean step(long bytesMost) {
        long bytes = 0;
        while (bytes < bytesMost && unit < layout.units) {
            bytes += area();
        }
        while (bytes < bytesMost && unit >= layout.units && line < layout.lines) {
            bytes += chains(layout.indexAt + line++ * SlabLayout.LINE_BYTES);
        }
        return unit >= layout.units && line >= layout.lines;
    }

    /** Checks the area at the cursor and goes behind it; from the middle of one the next is found unit by unit. */
    private long area() {
        long state = pages.state(unit);
        int kind = Pages.kind(state);
        if (kind != Pages.CUT && kind != Pages.RUN && kind != Pages.FREE) {
            unit++;
            return Long.BYTES;
        }
        int length = pages.areaLength(unit);
        check(pages.areaBefore(unit + length) == unit, "an area that does not end where it says");
        long start = layout.unitStart(unit);
        if (kind == Pages.RUN) {
            value(start);
        } else if (kind == Pages.CUT) {
            long size = pages.room(start);
            int used = 0;
            int carved = Pages.carved(state);
            check(carved <= layout.sizes.chunksPerPage(Pages.slot(state)), "a page with more chunks than fit");
            for (int chunk = 0; chunk < carved; chunk++) {
                if (items.checksum(start + chunk * size) != 0) {
                    used++;
                    value(start + chunk * size);
                }
            }
            check(used == Pages.used(state), "a page that miscounts its values");
        }
        unit += length;
        return kind == Pages.FREE ? Long.BYTES : (long) length << layout.sizes.unitShift;
    }

    private void value(long offset) {
        check(items.isWhole(offset, pages.room(offset)), "a value with a wrong checksum");
        long shape = items.shape(offset);
        long found = mutations.index.find(items.hash(offset), Items.namespace(shape), items.key(offset, shape));
        check(found == offset, "a value that is not found under its key");
        int newer = items.newer(offset);
        int older = items.older(offset);
        check(
                (newer == 0 || items.older(items.offset(newer)) == Items.reference(offset))
                        && (older == 0 || items.newer(items.offset(older)) == Items.reference(offset)),
                "a value whose neighbours in the queue do not know it");
    }

    private long chains(long at) {
        long bytes = SlabLayout.LINE_BYTES;
        for (int head = 1; head <= SlabLayout.HEADS; head++) {
            int reference = (int) mutations.memory.word(at + head * 8L);
            for (int steps = 0; reference != 0; steps++) {
                long offset = items.offset(reference);
                check(
                        steps <= Index.CHAIN_MOST && pages.isChunk(offset) && items.checksum(offset) != 0,
                        "a chain that leads to no value");
                bytes += SlabLayout.LINE_BYTES;
                reference = items.next(offset);
            }
        }
        return bytes;
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new HoldfastException(Category.CORRUPT, "verification found " + otherwise);
        }
    }
}
