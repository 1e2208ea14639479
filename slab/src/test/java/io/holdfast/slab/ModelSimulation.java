package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.ManualTime;
import io.holdfast.testkit.Seeds;
import java.nio.ByteBuffer;
import java.time.Duration;
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

    private static void simulate(long seed) {
        new Run(new Random(seed)).run();
    }

    /** One region, its clock, and the map of what may be in it. */
    private static final class Run {

        private final Random random;
        private final ManualTime time = new ManualTime();
        private final Shards shards;
        private final Map<Integer, byte[]> model = new HashMap<>();
        private final Map<Integer, Long> deadlines = new HashMap<>();
        private final int keys;
        private final int largest;

        Run(Random random) {
            this.random = random;
            SlabLayout layout = random.nextBoolean()
                    ? SlabLayout.ofPages(
                            1 + random.nextInt(40), Preset.SEED, CrashSimulation.anyPolicy(random), 12, 128)
                    : SlabLayout.ofPages(8 + random.nextInt(24), Preset.ADAPTIVE, Policy.SLRU, 16, 512)
                            .times(1 << random.nextInt(3));
            this.shards = HeapRegion.shards(layout, time);
            this.keys = 1 + random.nextInt(400);
            this.largest = layout.pageBytes() * (1 + random.nextInt(4));
        }

        void run() {
            for (int i = 0; i < 3_000; i++) {
                step();
                if (random.nextInt(100) == 0) {
                    assertThat(shards.audit().problems()).isEmpty();
                }
            }
            assertThat(shards.audit().problems()).isEmpty();
        }

        /** What the map has under the key, unless it has lapsed. */
        private byte @Nullable [] expected(int number) {
            return deadlines.getOrDefault(number, Long.MAX_VALUE) <= time.nanoTime() ? null : model.get(number);
        }

        private void step() {
            int number = (int) (keys * random.nextDouble() * random.nextDouble());
            byte[] key = key(number);
            SlabStore store = shards.of(shards.hash(0, key));
            switch (random.nextInt(12)) {
                case 0 -> {
                    assertThat(store.remove(0, key, SlabStore.ANY)).isNotNull();
                    model.remove(number);
                    assertThat(get(store, key)).isNull();
                }
                case 1, 2, 3, 4 -> {
                    byte[] value = new byte[length(random, store, largest)];
                    random.nextBytes(value);
                    boolean mayEvict = random.nextInt(8) != 0;
                    long ttl = random.nextInt(3) == 0
                            ? Duration.ofSeconds(1 + random.nextInt(9)).toNanos()
                            : 0;
                    try {
                        if (store.put(0, key, value, ttl, mayEvict, SlabStore.ANY)
                                .stored()) {
                            model.put(number, value);
                            deadlines.put(number, ttl == 0 ? Long.MAX_VALUE : time.nanoTime() + ttl);
                            assertThat(get(store, key)).isEqualTo(value);
                        }
                    } catch (io.holdfast.HoldfastException e) {
                        assertThat(e.category()).isEqualTo(io.holdfast.HoldfastException.Category.FULL);
                        assertThat(store.layout.policy).isEqualTo(Policy.NONE);
                    }
                }
                case 5 -> time.advance(Duration.ofMillis(random.nextInt(100)));
                case 6 -> {
                    if (random.nextInt(60) == 0) {
                        shards.clear(0, 0);
                        model.clear();
                    }
                }
                default -> {
                    byte[] value = get(store, key);
                    assertThat(value == null || Arrays.equals(value, expected(number)))
                            .isTrue();
                }
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

    /** As {@link SlabCache#get} does it. */
    static byte @Nullable [] get(SlabStore store, byte[] key) {
        return store.reads.copy(0, key);
    }
}
