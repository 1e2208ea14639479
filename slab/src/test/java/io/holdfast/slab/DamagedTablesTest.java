package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tables that are damaged while the cache is in use: puts end, and the cache is usable afterwards. */
class DamagedTablesTest {

    private static final SlabLayout LAYOUT = SlabLayout.ofPages(16, Preset.ADAPTIVE, Policy.SLRU, 16, 1 << 14);

    private static byte[] key(int number) {
        return ByteBuffer.allocate(4).putInt(number).array();
    }

    private final List<String> wrong = Collections.synchronizedList(new ArrayList<>());

    @Test
    void anyBitOfTheStateOfAnAreaMayFlip() throws Exception {
        for (int bit = 0; bit < 64; bit++) {
            for (int nth = 0; nth < 6; nth++) {
                flip(bit, nth);
            }
        }
        assertThat(wrong).isEmpty();
    }

    /** Flips a bit of the nth area's state, or of its end's. */
    private void flip(int bit, int nth) throws InterruptedException {
        HeapRegion region = new HeapRegion(LAYOUT, Time.system());
        SlabStore store = region.open();
        for (int i = 0; i < 80; i++) {
            store.put(0, key(i), Cargo.value(i, 1, i % 2 == 0 ? 40_000 : 5_000), 0, true, SlabStore.ANY);
        }
        Pages pages = store.mutations.pages;
        int unit = 0;
        for (int i = 0; i < nth / 2 * 3; i++) {
            unit += pages.areaLength(unit);
        }
        unit += nth % 2 == 0 ? 0 : pages.areaLength(unit) - 1;
        long at = pages.stateAt(unit);
        region.memory.word(at, region.memory.word(at) ^ 1L << bit);
        String what = "bit " + bit + " of unit " + unit;
        Thread writer = Thread.ofPlatform().daemon().start(() -> write(store, what));
        if (!writer.join(Duration.ofSeconds(20))) {
            wrong.add(what + ": a put does not end");
            return;
        }
        for (int i = 0; i < 80; i++) {
            byte[] value = ModelSimulation.get(store, key(i));
            if (value != null && !Cargo.isOf(i, value)) {
                wrong.add(what + ": a wrong value of key " + i);
            }
        }
    }

    private void write(SlabStore store, String what) {
        int full = 0;
        for (int i = 0; i < 60; i++) {
            try {
                store.put(0, key(1_000 + i), new byte[i % 3 == 0 ? 100_000 : 5_000], 0, true, SlabStore.ANY);
            } catch (HoldfastException e) {
                full += e.category() == Category.FULL ? 1 : 0;
                if (e.category() != Category.RETRY && e.category() != Category.FULL) {
                    wrong.add(what + ": " + e);
                }
            } catch (Throwable t) {
                wrong.add(what + ": " + t);
            }
        }
        if (full > 0) {
            wrong.add(what + ": FULL " + full + " times");
        }
    }

    @Test
    void chunkListedAsFreeAndInUseIsNotGivenAway() {
        HeapRegion region = new HeapRegion(LAYOUT, Time.system());
        SlabStore store = region.open();
        for (int i = 0; i < 20; i++) {
            store.put(0, key(i), Cargo.value(i, 1, 700), 0, true, SlabStore.ANY);
        }
        store.remove(0, key(3), SlabStore.ANY);
        Pages pages = store.mutations.pages;
        int page = pages.areaOf(store.mutations.index.find(store.mutations.items.hash(0, key(5)), 0, key(5)));
        long state = pages.state(page);
        region.memory.word(
                pages.stateAt(page),
                Pages.cut(Pages.slot(state), 6, Pages.used(state), Pages.carved(state))); // chunk 5 is in use
        assertThatCode(() -> store.put(0, key(100), Cargo.value(100, 1, 700), 0, true, SlabStore.ANY))
                .hasMessageContaining("rebuilt");
        for (int i = 0; i < 20; i++) {
            byte[] value = ModelSimulation.get(store, key(i));
            assertThat(i == 3 ? value == null : value != null && Cargo.isOf(i, value))
                    .as("key " + i)
                    .isTrue();
        }
        assertThat(store.audit().problems()).isEmpty();
    }
}
