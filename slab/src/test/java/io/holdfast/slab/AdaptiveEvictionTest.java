package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.Time;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Which values go when room is needed, under preset ADAPTIVE. */
class AdaptiveEvictionTest extends OpenCaches {

    /** Each file has a hash of its own, and with it the ratio differs by some thousandths: the middle of three counts. */
    @Test
    void sizesThatShiftDoNotCalcifyTheCache() {
        double[] ratios = new double[3];
        for (int i = 0; i < ratios.length; i++) {
            ratios[i] = shift(open(SlabCache.builder(directory.resolve("shift" + i))
                    .size(8 << 20)
                    .time(Time.system())));
        }
        Arrays.sort(ratios);
        assertThat(ratios[1]).as(Arrays.toString(ratios)).isGreaterThanOrEqualTo(0.93);
    }

    @Test
    void sizesThatShiftCalcifyTheOriginal() {
        SlabCache cache = open(SlabCache.builder(directory.resolve("shift"))
                .preset(Preset.SEED)
                .size(8 << 20));
        assertThat(shift(cache)).isLessThan(0.05);
    }

    private static double shift(SlabCache cache) {
        for (int i = 0; i < 40_000; i++) {
            cache.put(Cargo.key(1_000_000 + i), new byte[300]);
        }
        java.util.Random random = new java.util.Random(3);
        int hits = 0;
        for (int i = 0; i < 60_000; i++) {
            byte[] key = Cargo.key(random.nextInt(4_000));
            if (cache.get(key) != null) {
                hits++;
            } else {
                cache.put(key, new byte[1_500]);
            }
        }
        return hits / 60_000.0;
    }

    @Test
    void putNeverEvictsMoreThanAPageOfValues() {
        SlabCache cache = open(builder().dataPages(16));
        java.util.Random random = new java.util.Random(9);
        for (int i = 0; i < 20_000; i++) {
            int largest = i % 5_000 < 2_500 ? 60 : 6_000;
            PutResult result = cache.put(Cargo.key(random.nextInt(30_000)), new byte[random.nextInt(largest)]);
            assertThat(result.evicted()).isLessThanOrEqualTo((64 << 10) / 64);
        }
        assertThat(cache.stats().mostEvictedByAPut()).isPositive();
    }

    @Test
    void scanLeavesWhatIsReadOftenAlone() {
        SlabCache cache = open(builder().dataPages(32));
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 300; i++) {
                if (cache.get(Cargo.key(i)) == null) {
                    cache.put(Cargo.key(i), new byte[1_000]);
                }
            }
        }
        for (int i = 10_000; i < 30_000; i++) {
            cache.put(Cargo.key(i), new byte[1_000]);
        }
        int left = 0;
        for (int i = 0; i < 300; i++) {
            left += cache.get(Cargo.key(i)) == null ? 0 : 1;
        }
        assertThat(left).isGreaterThan(270);
    }

    @Test
    void ageOfAMarkDoesNotWrapAround() {
        HeapRegion region = HeapRegion.adaptive(8);
        SlabStore store = region.open();
        store.put(0, bytes("old"), new byte[100], 0, true, SlabStore.ANY);
        Recency.Marks marks = new Recency.Marks(region.memory, region.layout);
        long head = store.mutations.index.headOf(
                store.mutations.index.find(store.mutations.items.hash(0, bytes("old")), 0, bytes("old")));
        int before = 0;
        for (int i = 0; i < 20_000; i++) {
            store.put(0, bytes("new"), new byte[4_000], 0, true, SlabStore.ANY);
            assertThat(marks.age(head)).isGreaterThanOrEqualTo(Math.min(before, 700));
            before = marks.age(head);
        }
        assertThat(marks.epoch()).isGreaterThan(3_000);
    }
}
