package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.Time;
import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Values that take runs of units: what they lose to rounding, and what a put of one looks at. */
class LargeValuesTest {

    private static byte[] key(int number) {
        return ByteBuffer.allocate(4).putInt(number).array();
    }

    private static SlabLayout layout(int pages) {
        return SlabLayout.ofPages(pages, Preset.ADAPTIVE, Policy.SLRU, 16, 1 << 14);
    }

    private static SlabStore open(Memory memory, SlabLayout layout) {
        SlabStore.format(memory, layout, 1);
        SlabStore store = new SlabStore(
                memory, layout, HeapRegion.SEED, new HeapRegion.FakeHost(), Time.system(), Probe.NONE, 20_000_000);
        store.attach();
        return store;
    }

    private static void put(SlabStore store, int key, int length) {
        assertThat(store.put(0, key(key), new byte[length], 0, true, SlabStore.ANY)
                        .stored())
                .isTrue();
    }

    @Test
    void lessThanAnEighthIsLostToRoundingAtAnySize() {
        SlotSizes sizes = layout(8).sizes;
        for (long bytes = 1024; bytes <= 4 << 20; bytes += 1 + bytes / 511) {
            int slot = sizes.slotFor(bytes);
            double taken = sizes.isRun(slot)
                    ? (double) ((long) sizes.unitsFor(slot, bytes) << sizes.unitShift)
                    : 65_536.0 / sizes.chunksPerPage(slot);
            assertThat(taken).isGreaterThanOrEqualTo((double) bytes);
            assertThat(1 - bytes / taken).as("lost of a value of " + bytes).isLessThan(0.12);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1_000, 5_000, 11_000, 24_000, 33_000, 66_000, 100_000, 140_000, 300_000})
    void cacheFullOfOneSizeHoldsValuesInNearlyAllOfIt(int length) {
        SlabLayout layout = layout(128);
        SlabStore store = open(new HeapMemory(layout), layout);
        for (int i = 0; i < 2 * (128 << 16) / length; i++) {
            put(store, i, length);
        }
        long data = 128L << 16;
        assertThat((double) store.audit().itemBytes() / data).isGreaterThan(0.88 - (double) length / data);
    }

    @Test
    void putOfALargeValueReadsNoMoreInALargeCacheThanInASmallOne() {
        long few = wordsRead(64);
        long many = wordsRead(1_024);
        assertThat(many).as("words read; " + few + " with 64 pages").isLessThan(few * 2);
    }

    private static long wordsRead(int pages) {
        SlabLayout layout = layout(pages);
        long[] reads = new long[1];
        Memory memory = new HeapMemory(layout) {
            @Override
            long word(long at) {
                reads[0]++;
                return super.word(at);
            }
        };
        SlabStore store = open(memory, layout);
        for (int i = 0; i < pages * 4; i++) {
            put(store, i, 33_000);
        }
        reads[0] = 0;
        for (int i = 0; i < 20; i++) {
            put(store, 100_000 + i, 33_000);
        }
        return reads[0];
    }

    @Test
    void valuesOfAllSizesShareOneCache() {
        SlabLayout layout = layout(96);
        SlabStore store = open(new HeapMemory(layout), layout);
        Random random = new Random(5);
        for (int i = 0; i < 6_000; i++) {
            int length = (int) Math.exp(4 + random.nextDouble() * 10);
            put(store, random.nextInt(3_000), length);
            ModelSimulation.get(store, key(random.nextInt(3_000)));
        }
        assertThat(store.audit().problems()).isEmpty();
        assertThat((double) store.audit().itemBytes() / (96L << 16)).isGreaterThan(0.6);
    }
}
