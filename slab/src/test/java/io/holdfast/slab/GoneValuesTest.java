package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.ManualTime;
import java.nio.ByteBuffer;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Lapsed and cleared values make room for others before any value that can still be read, also without the duty. */
class GoneValuesTest {

    private static final int LENGTH = 1_000;
    private static final long TTL = Duration.ofSeconds(1).toNanos();
    private static final SlabLayout LAYOUT = SlabLayout.ofPages(8, Preset.ADAPTIVE, Policy.SLRU, 16, 512);
    private static final int FITTING = LAYOUT.pages
            * LAYOUT.sizes.chunksPerPage(LAYOUT.sizes.slotFor(LENGTH + Items.HEADER + Items.DEADLINES + 4));

    private final ManualTime time = new ManualTime();
    private final HeapRegion region = new HeapRegion(LAYOUT, time);
    private final SlabStore store = region.open();

    private static byte[] key(int number) {
        return ByteBuffer.allocate(4).putInt(number).array();
    }

    /** Fills the cache with values that were read often. */
    private void fill() {
        for (int i = 0; i < FITTING + FITTING / 4; i++) {
            store.put(0, key(i), new byte[LENGTH], TTL, true, SlabStore.ANY);
            ModelSimulation.get(store, key(i));
            ModelSimulation.get(store, key(i));
        }
    }

    private int heldOfAsManyNewOnes() {
        for (int i = 0; i < FITTING; i++) {
            store.put(0, key(100_000 + i), new byte[LENGTH], TTL, true, SlabStore.ANY);
        }
        int held = 0;
        for (int i = 0; i < FITTING; i++) {
            held += ModelSimulation.get(store, key(100_000 + i)) == null ? 0 : 1;
        }
        return held;
    }

    @Test
    void clearedValuesGetNoSecondChance() {
        fill();
        store.clear(0);
        assertThat(heldOfAsManyNewOnes()).isEqualTo(FITTING);
        assertThat(store.audit().problems()).isEmpty();
    }

    @Test
    void lapsedValuesGetNoSecondChance() {
        fill();
        time.advance(Duration.ofSeconds(2));
        assertThat(heldOfAsManyNewOnes()).isEqualTo(FITTING);
    }

    @Test
    void goneValuesAreNotRescuedFromAPageThatMoves() {
        fill();
        store.clear(0);
        // Values of another size need all pages: no value of the first size is worth a copy.
        for (int i = 0; i < 4 * LAYOUT.pages; i++) {
            store.put(0, key(200_000 + i), new byte[30_000], 0, true, SlabStore.ANY);
            ModelSimulation.get(store, key(200_000 + i));
        }
        int held = 0;
        for (int i = 0; i < 4 * LAYOUT.pages; i++) {
            held += ModelSimulation.get(store, key(200_000 + i)) == null ? 0 : 1;
        }
        assertThat(held).isEqualTo(2 * LAYOUT.pages);
    }
}
