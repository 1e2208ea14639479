package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.Time;
import java.time.Instant;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.Test;

/** Lincheck drives the core over heap memory from two threads; the canary shows that it would find a race. */
class LinearizabilityTest {

    /** Stands still, so that nothing depends on how long an interleaving takes. */
    private enum StoppedTime implements Time {
        NOON;

        @Override
        public Instant instant() {
            return Instant.EPOCH;
        }

        @Override
        public long nanoTime() {
            return 0;
        }
    }

    /** A store of two keys in one small slot, each value in a chunk that the other may have had. */
    @Param(name = "key", gen = IntGen.class, conf = "1:2")
    @Param(name = "value", gen = IntGen.class, conf = "1:3")
    public static class Core {

        final SlabStore store;

        public Core() {
            this(SlabLayout.ofPages(1, Preset.SEED, Policy.SLRU, 12, 1 << 20));
        }

        Core(SlabLayout layout) {
            Memory memory = new HeapMemory(layout);
            SlabStore.format(memory, layout, 1);
            store = new SlabStore(
                    memory,
                    layout,
                    HeapRegion.SEED,
                    new HeapRegion.FakeHost(),
                    StoppedTime.NOON,
                    Probe.NONE,
                    Long.MAX_VALUE / 4);
            // Nobody else attaches, and an empty region needs no audit.
            store.processes.attach(0);
        }

        static byte[] key(int key) {
            return new byte[] {(byte) key};
        }

        @Operation
        public void put(@Param(name = "key") int key, @Param(name = "value") int value) {
            store.put(0, key(key), new byte[] {(byte) key, (byte) value, (byte) value}, 0, true, SlabStore.ANY);
        }

        @Operation
        public boolean remove(@Param(name = "key") int key) {
            return store.remove(0, key(key), SlabStore.ANY) == Removal.REMOVED;
        }

        @Operation
        public int get(@Param(name = "key") int key) {
            byte[] value = ModelSimulation.get(store, key(key));
            return value == null ? 0 : value[0] * 100 + value[1] * 10 + value[2];
        }
    }

    /** The same under ADAPTIVE, whose values of one slot are written over where they are, with values that lapse. */
    @Param(name = "key", gen = IntGen.class, conf = "1:2")
    @Param(name = "value", gen = IntGen.class, conf = "1:3")
    public static class Adaptive extends Core {

        public Adaptive() {
            super(SlabLayout.ofPages(1, Preset.ADAPTIVE, Policy.SLRU, 12, 1 << 20));
        }

        @Override
        @Operation
        public void put(@Param(name = "key") int key, @Param(name = "value") int value) {
            long ttl = value == 3 ? 1_000 : 0;
            store.put(0, key(key), new byte[] {(byte) key, (byte) value, (byte) value}, ttl, true, SlabStore.ANY);
        }
    }

    /** The same with a get that takes its time and does not look at the sequence. */
    @Param(name = "key", gen = IntGen.class, conf = "1:2")
    @Param(name = "value", gen = IntGen.class, conf = "1:3")
    public static class Canary extends Core {

        @Override
        @Operation
        public int get(@Param(name = "key") int key) {
            Items items = store.mutations.items;
            long offset = store.mutations.index.find(items.hash(0, key(key)), 0, key(key));
            if (offset == 0) {
                return 0;
            }
            long at = offset + Items.keyAt(items.shape(offset)) + 1;
            byte[] value = new byte[3];
            store.memory.read(at, value, 0, 2);
            pause();
            store.memory.read(at + 2, value, 2, 1);
            return value[0] * 100 + value[1] * 10 + value[2];
        }

        void pause() {
            for (int i = 0; i < 20_000; i++) {
                Thread.onSpinWait();
            }
        }
    }

    /** The same without the pause, on one key: model checking finds the place to switch by itself. */
    @Param(name = "key", gen = IntGen.class, conf = "1:1")
    @Param(name = "value", gen = IntGen.class, conf = "1:2")
    public static class SwiftCanary extends Canary {

        @Override
        void pause() {}
    }

    /** Real threads, many times over. */
    private static StressOptions options() {
        return new StressOptions()
                .threads(2)
                .actorsPerThread(4)
                .actorsBefore(2)
                .actorsAfter(1)
                .iterations(Integer.getInteger("lincheck.iterations", 3))
                .invocationsPerIteration(120)
                .minimizeFailedScenario(false);
    }

    @Test
    void getPutAndRemoveAreLinearizable() {
        options().check(Core.class);
    }

    @Test
    void getPutAndRemoveAreLinearizableInEveryInterleavingTried() {
        modelChecking().check(Core.class);
    }

    @Test
    void adaptiveIsLinearizable() {
        options().check(Adaptive.class);
    }

    @Test
    void adaptiveIsLinearizableInEveryInterleavingTried() {
        modelChecking().check(Adaptive.class);
    }

    @Test
    void canaryIsFoundByModelChecking() {
        assertThatThrownBy(() -> modelChecking().iterations(40).check(SwiftCanary.class))
                .isInstanceOf(LincheckAssertionError.class);
    }

    /** Follows the accesses to the array of words one by one, and switches threads between them. */
    private static ModelCheckingOptions modelChecking() {
        return new ModelCheckingOptions()
                .threads(2)
                .actorsPerThread(2)
                .actorsBefore(1)
                .actorsAfter(0)
                .iterations(Integer.getInteger("lincheck.iterations", 2))
                .invocationsPerIteration(100)
                // Who waits for the lock makes 256 calls in each other first, to be sure of its stack: that is no hang.
                .recursionBound(300)
                .minimizeFailedScenario(false);
    }

    @Test
    void canaryIsFound() {
        assertThatThrownBy(() -> options().iterations(40).check(Canary.class))
                .isInstanceOf(LincheckAssertionError.class);
    }
}
