package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.holdfast.HoldfastException;
import io.holdfast.Time;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** What a process that died or failed while it held the lock leaves to the others. */
class DeadHolderTest {

    private static final SlabLayout LAYOUT = SlabLayout.ofPages(8, Preset.ADAPTIVE, Policy.SLRU, 13, 1 << 20);
    private static final int LENGTH = 700;
    private static final long LIVING = 9L << Life.PID_SHIFT;

    private static byte[] key(int number) {
        return ByteBuffer.allocate(4).putInt(number).array();
    }

    private static byte[] value(int fill) {
        byte[] value = new byte[LENGTH];
        Arrays.fill(value, (byte) fill);
        return value;
    }

    private static PutResult put(SlabStore store, int key, byte[] value) {
        return store.put(0, key(key), value, 0, true, SlabStore.ANY);
    }

    private static SlabStore open(Memory memory, HeapRegion.FakeHost host, int process, Probe probe) {
        host.become(process);
        SlabStore store = new SlabStore(memory, LAYOUT, HeapRegion.SEED, host, Time.system(), probe, 20_000_000);
        store.attach();
        return store;
    }

    /** A dies while it rewrites; B, whose close timed out, takes its lock; C stores under a key of the same line. */
    @Test
    void tornValueOfADeadWriterIsNotServedAfterAClosedCacheTookItsLock() {
        HeapRegion.FakeHost host = new HeapRegion.FakeHost();
        MortalMemory memory = new MortalMemory(LAYOUT);
        SlabStore.format(memory, LAYOUT, 1);
        SlabStore dying = open(memory, host, 1, Probe.NONE);
        SlabStore closing = open(memory, host, 2, Probe.NONE);
        SlabStore living = open(memory, host, 3, Probe.NONE);
        host.become(1);
        put(dying, 1, value(1));
        memory.word(SlabLayout.C_LOCK, LIVING);
        host.become(2);
        closing.detach();
        memory.word(SlabLayout.C_LOCK, 0);
        host.become(1);
        dieWithATornValue(dying, memory);
        host.kill(1);
        host.become(2);
        assertThatThrownBy(() -> put(closing, 50, value(5))).hasMessageContaining("closed");
        host.become(3);
        put(living, keyOfTheSameLine(living), value(3));
        byte[] got = ModelSimulation.get(living, key(1));
        assertThat(got == null || Arrays.equals(got, value(1)) || Arrays.equals(got, value(2)))
                .as("whole or absent")
                .isTrue();
    }

    private static void dieWithATornValue(SlabStore store, MortalMemory memory) {
        long offset = store.mutations.index.find(store.mutations.items.hash(0, key(1)), 0, key(1));
        byte[] left = new byte[LENGTH];
        long[] whole = memory.snapshot();
        for (int stores = 0; left[0] != 2 || left[LENGTH - 1] != 1; stores++) {
            memory.restore(whole);
            memory.dieAfter(stores);
            assertThat(catchThrowable(() -> put(store, 1, value(2)))).isInstanceOf(MortalMemory.Dead.class);
            memory.revive();
            memory.read(offset + Items.HEADER + 4, left, 0, LENGTH);
        }
    }

    private static int keyOfTheSameLine(SlabStore store) {
        int key = 2;
        while (line(store, key) != line(store, 1)) {
            key++;
        }
        return key;
    }

    private static long line(SlabStore store, int key) {
        return store.mutations.index.lineAt(store.mutations.items.hash(0, key(key)));
    }

    @Test
    void salvageThatFailsIsDoneByTheNextProcess() {
        HeapRegion.FakeHost host = new HeapRegion.FakeHost();
        Memory memory = new HeapMemory(LAYOUT);
        SlabStore.format(memory, LAYOUT, 1);
        SlabStore other = open(memory, host, 2, Probe.NONE);
        SlabStore withoutHeap = open(memory, host, 1, point -> {
            if (point == Probe.Point.SALVAGE_COLLECTED) {
                throw new OutOfMemoryError("planted");
            }
        });
        put(withoutHeap, 1, value(1));
        memory.word(SlabLayout.C_FREE, memory.word(SlabLayout.C_FREE) | 0xffff);
        assertThatThrownBy(() -> withoutHeap.put(0, key(2), new byte[100], 0, true, SlabStore.ANY))
                .isInstanceOf(HoldfastException.class);
        host.become(2);
        assertThat(put(other, 3, value(3)).stored()).isTrue();
        assertThat(ModelSimulation.get(other, key(1))).isEqualTo(value(1));
        assertThat(other.audit().problems()).isEmpty();
    }

    @Test
    void repairThatMeetsNonsenseSalvages() {
        HeapRegion.FakeHost host = new HeapRegion.FakeHost();
        Memory memory = new HeapMemory(LAYOUT);
        SlabStore.format(memory, LAYOUT, 1);
        SlabStore store = open(memory, host, 1, Probe.NONE);
        for (int i = 0; i < 20; i++) {
            put(store, i, value(i));
        }
        long offset = store.mutations.index.find(store.mutations.items.hash(0, key(5)), 0, key(5));
        long state = store.mutations.pages.stateAt(store.mutations.pages.areaOf(offset));
        memory.word(state, memory.word(state) | 0x7fL << 48); // no such slot
        memory.word(SlabLayout.C_RESERVED, Items.reference(offset));
        memory.word(SlabLayout.C_LOCK, 7L << Life.PID_SHIFT);
        host.kill(7);
        assertThat(put(store, 100, value(1)).stored()).isTrue();
        assertThat(Counter.SALVAGES.read(memory)).isPositive();
        assertThat(store.audit().problems()).isEmpty();
    }
}
