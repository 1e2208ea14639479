package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException;
import io.holdfast.Time;
import io.holdfast.testkit.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * A process dies after every single store of an operation, and again after any store of the repair. Whatever it leaves,
 * the next process finds a region in order: every count right, every value whole and the last that was put, and only
 * the key that was being changed may have lost its value.
 */
class CrashSimulation {

    @Test
    void deathAfterAnyStoreIsRepaired() {
        Seeds.of(8).twoAtATime().run((seed, random) -> simulate(seed));
    }

    private void simulate(long seed) {
        Random random = new Random(seed);
        new Life(random).run(random.nextInt(20) == 0 ? 30 : 6);
    }

    static Policy anyPolicy(Random random) {
        return switch (random.nextInt(3)) {
            case 0 -> Policy.SLRU;
            case 1 -> Policy.LRU;
            default -> Policy.NONE;
        };
    }

    private static SlabStore of(Shards shards, int key) {
        return shards.of(shards.hash(0, ModelSimulation.key(key)));
    }

    /** One cache, brought into some state, in which operations are then cut off. */
    private static final class Life {

        private final Random random;
        private final SlabLayout layout;
        private final List<MortalMemory> memories = new ArrayList<>();
        private final HeapRegion.FakeHost host = new HeapRegion.FakeHost();
        private final Map<Integer, byte[]> model = new HashMap<>();
        private int process = 1;

        Life(Random random) {
            this.random = random;
            this.layout = random.nextInt(2) > 0
                    ? SlabLayout.ofPages(1 + random.nextInt(9), Preset.SEED, anyPolicy(random), 12, 128)
                    : SlabLayout.ofPages(8, Preset.ADAPTIVE, Policy.SLRU, 16, 4096)
                            .times(1 + random.nextInt(2));
            for (int i = 0; i < layout.shards; i++) {
                memories.add(new MortalMemory(layout));
            }
            Shards.format(List.copyOf(memories), layout, 0);
        }

        private Shards open() {
            host.kill(process);
            host.become(++process);
            Shards shards = new Shards(
                    List.copyOf(memories), layout, HeapRegion.SEED, host, Time.system(), Probe.NONE, 50_000_000);
            shards.attach();
            return shards;
        }

        private List<long[]> snapshot() {
            return memories.stream().map(MortalMemory::snapshot).toList();
        }

        private void restore(List<long[]> snapshot) {
            for (int i = 0; i < memories.size(); i++) {
                memories.get(i).restore(snapshot.get(i));
            }
        }

        /** Of each shard, so many: an operation concerns one of them. */
        private void dieAfter(long stores) {
            memories.forEach(memory -> memory.dieAfter(stores));
        }

        private void revive() {
            memories.forEach(MortalMemory::revive);
        }

        private static byte @Nullable [] get(Shards shards, int key) {
            return ModelSimulation.get(of(shards, key), ModelSimulation.key(key));
        }

        void run(int operations) {
            Shards store = open();
            int warmUp = random.nextInt(300);
            for (int i = 0; i < warmUp; i++) {
                apply(store, operation());
            }
            for (int i = 0; i < operations; i++) {
                long before = random.nextLong();
                cutOffEverywhere(store, before);
                // Then do it for good.
                store = open();
                random.setSeed(before);
                apply(store, operation());
                assertThat(store.audit().problems()).isEmpty();
            }
        }

        /** Performs one operation after the other until one is not cut off any more. */
        private void cutOffEverywhere(Shards store, long operationSeed) {
            List<long[]> start = snapshot();
            for (long stores = 0; ; stores += 1 + random.nextInt(3)) {
                random.setSeed(operationSeed);
                Operation operation = operation();
                random.setSeed(operationSeed + stores);
                dieAfter(stores);
                boolean died = !operation.perform(store);
                revive();
                if (died) {
                    checkAfterDeath(operation);
                }
                restore(start);
                store = open();
                start = snapshot();
                if (!died) {
                    return;
                }
            }
        }

        private void checkAfterDeath(Operation operation) {
            for (int deaths = random.nextInt(3); deaths > 0; deaths--) {
                dieAfter(random.nextInt(120));
                try {
                    open();
                } catch (MortalMemory.Dead | HoldfastException e) {
                    // Died while repairing.
                }
                revive();
            }
            Shards store = open();
            assertThat(store.audit().problems()).isEmpty();
            for (SlabStore shard : store.all()) {
                assertThat(shard.hasReserved()).isFalse();
                assertThat(Counter.SALVAGES.read(shard.memory)).isZero();
            }
            int lost = 0;
            for (Map.Entry<Integer, byte[]> entry : model.entrySet()) {
                byte[] value = get(store, entry.getKey());
                boolean same = Arrays.equals(value, entry.getValue());
                boolean changed =
                        entry.getKey() == operation.key && (value == null || Arrays.equals(value, operation.value));
                assertThat(same || changed || value == null).isTrue();
                lost += same || changed ? 0 : 1;
            }
            if (operation.value == null) {
                assertThat(lost).as("values lost by a remove").isLessThanOrEqualTo(lostBefore());
            }
            byte[] value = get(store, operation.key);
            assertThat(value == null
                            || Arrays.equals(value, operation.value)
                            || Arrays.equals(value, model.get(operation.key)))
                    .isTrue();
            assertThat(of(store, 999)
                            .put(0, ModelSimulation.key(999), new byte[8], 0, false, SlabStore.ANY)
                            .outcome())
                    .isNotEqualTo(PutResult.Outcome.BUSY);
        }

        /** Values of the model that eviction had taken before the operation that was cut off. */
        private int lostBefore() {
            return evictedFromModel;
        }

        private int evictedFromModel;

        private Operation operation() {
            int key = random.nextInt(40);
            byte @Nullable [] value = null;
            if (random.nextInt(5) != 0) {
                int page = layout.pageBytes();
                int most = Math.min(page * layout.pages - 64, random.nextInt(4) == 0 ? page * 3 : page / 3);
                // One in three has the length that its key always has: such a value is replaced where it is.
                value = new byte[random.nextInt(3) == 0 ? Math.min(most, 50 + key * 97) : random.nextInt(most)];
                random.nextBytes(value);
            }
            long ttl = random.nextInt(3) == 0 ? Duration.ofHours(1).toNanos() : 0;
            return new Operation(key, value, ttl, random.nextInt(6) != 0);
        }

        private void apply(Shards store, Operation operation) {
            if (operation.perform(store) && operation.stored) {
                if (operation.value == null) {
                    model.remove(operation.key);
                } else {
                    model.put(operation.key, operation.value);
                }
            }
            evictedFromModel = 0;
            model.forEach((key, value) -> {
                if (get(store, key) == null) {
                    evictedFromModel++;
                }
            });
        }
    }

    /** A put, or a remove if there is no value. */
    private static final class Operation {
        final int key;
        final byte @Nullable [] value;
        final long ttl;
        final boolean mayEvict;
        boolean stored;

        Operation(int key, byte @Nullable [] value, long ttl, boolean mayEvict) {
            this.key = key;
            this.value = value;
            this.ttl = ttl;
            this.mayEvict = mayEvict;
        }

        /** False if the process died on the way. */
        boolean perform(Shards shards) {
            SlabStore store = of(shards, key);
            try {
                if (value == null) {
                    store.remove(0, ModelSimulation.key(key), SlabStore.ANY);
                    stored = true;
                } else {
                    stored = store.put(0, ModelSimulation.key(key), value, ttl, mayEvict, SlabStore.ANY)
                            .stored();
                }
                return true;
            } catch (MortalMemory.Dead e) {
                return false;
            } catch (HoldfastException e) {
                assertThat(e.category()).isEqualTo(HoldfastException.Category.FULL);
                return true;
            }
        }
    }
}
