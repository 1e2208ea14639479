package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.testkit.Seeds;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Random operations against a map. A cache may forget, so a value may be missing; one that is there must be the one
 * that the map has, and every so often the whole region is audited.
 */
class ModelSimulation {

    @Test
    void everyValueIsTheLastOnePutAndEveryCountIsRight() {
        Seeds.of(24).twoAtATime().run((seed, random) -> simulate(seed));
    }

    private void simulate(long seed) {
        Random random = new Random(seed);
        HeapRegion region = random.nextBoolean()
                ? HeapRegion.seed(CrashSimulation.anyPolicy(random), 1 + random.nextInt(40))
                : HeapRegion.adaptive(8 + random.nextInt(24));
        SlabStore store = region.open();
        Map<Integer, byte[]> model = new HashMap<>();
        int keys = 1 + random.nextInt(400);
        int largest = region.layout.pageBytes() * (1 + random.nextInt(4));
        for (int i = 0; i < 3_000; i++) {
            step(random, store, model, keys, largest);
            if (random.nextInt(100) == 0) {
                assertThat(store.audit().problems()).isEmpty();
            }
        }
        assertThat(store.audit().problems()).isEmpty();
    }

    private static void step(Random random, SlabStore store, Map<Integer, byte[]> model, int keys, int largest) {
        int number = (int) (keys * random.nextDouble() * random.nextDouble());
        byte[] key = key(number);
        switch (random.nextInt(10)) {
            case 0 -> {
                assertThat(store.remove(0, key, SlabStore.ANY)).isNotNull();
                model.remove(number);
                assertThat(get(store, key)).isNull();
            }
            case 1, 2, 3, 4 -> {
                byte[] value = new byte[length(random, store, largest)];
                random.nextBytes(value);
                boolean mayEvict = random.nextInt(8) != 0;
                try {
                    if (store.put(0, key, value, 0, mayEvict, SlabStore.ANY).stored()) {
                        model.put(number, value);
                        assertThat(get(store, key)).isEqualTo(value);
                    }
                } catch (io.holdfast.HoldfastException e) {
                    assertThat(e.category()).isEqualTo(io.holdfast.HoldfastException.Category.FULL);
                    assertThat(store.layout.policy).isEqualTo(Policy.NONE);
                }
            }
            default -> {
                byte[] value = get(store, key);
                assertThat(value == null || Arrays.equals(value, model.get(number)))
                        .isTrue();
            }
        }
    }

    private static int length(Random random, SlabStore store, int largest) {
        int most = Math.min(largest, (store.layout.pages << store.layout.pageShift) - 64);
        return switch (random.nextInt(5)) {
            case 0 -> random.nextInt(most);
            case 1 -> random.nextInt(Math.min(most, 8_000));
            default -> random.nextInt(Math.min(most, 700));
        };
    }

    static byte[] key(int number) {
        return ByteBuffer.allocate(4 + number % 9).putInt(number).array();
    }

    static byte @Nullable [] get(SlabStore store, byte[] key) {
        return store.reads.get(0, key, (memory, at, length, version) -> {
            byte[] value = new byte[length];
            memory.read(at, value, 0, length);
            return value;
        });
    }
}
