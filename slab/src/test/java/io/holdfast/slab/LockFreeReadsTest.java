package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.Time;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a get does while others write, and how often it does it. */
class LockFreeReadsTest {

    private static final SlabLayout LAYOUT = SlabLayout.ofPages(16, Preset.ADAPTIVE, Policy.SLRU, 16, 1 << 20);
    private static final byte[] KEY = {1};

    private static SlabStore open(Memory memory, SlabLayout layout) {
        SlabStore.format(memory, layout, 1);
        SlabStore store = new SlabStore(
                memory, layout, HeapRegion.SEED, new HeapRegion.FakeHost(), Time.system(), Probe.NONE, 20_000_000);
        store.attach();
        return store;
    }

    private static long line(SlabStore store) {
        return store.mutations.index.lineAt(store.mutations.items.hash(0, KEY));
    }

    @Test
    void getOfAValueWithTtlLooksOnce() {
        List<Long> looks = new ArrayList<>();
        Memory memory = new HeapMemory(LAYOUT) {
            @Override
            long acquire(long at) {
                looks.add(at);
                return super.acquire(at);
            }
        };
        SlabStore store = open(memory, LAYOUT);
        store.put(0, KEY, new byte[500], 1_000_000_000_000L, true, SlabStore.ANY);
        looks.clear();
        assertThat(store.reads.copy(0, KEY)).hasSize(500);
        assertThat(looks).containsOnlyOnce(line(store));
    }

    @Test
    void lineIsOpenWhileALargeValueIsCopied() {
        long[] line = new long[1];
        List<Boolean> open = new ArrayList<>();
        Memory memory = new HeapMemory(LAYOUT) {
            @Override
            void write(long at, byte[] bytes, int from, int length) {
                if (line[0] != 0 && length > 1_000) {
                    open.add((word(line[0]) & 1) == 0);
                }
                super.write(at, bytes, from, length);
            }
        };
        SlabStore store = open(memory, LAYOUT);
        store.put(0, KEY, new byte[100_000], 0, true, SlabStore.ANY);
        line[0] = line(store);
        store.put(0, KEY, new byte[100_000], 0, true, SlabStore.ANY);
        store.put(0, KEY, new byte[20_000], 0, true, SlabStore.ANY);
        store.put(0, KEY, new byte[20_000], 0, true, SlabStore.ANY);
        assertThat(open).hasSize(3).doesNotContain(false);
    }

    @Test
    void valueInALineThatNeverStandsStillIsFound() {
        long[] line = new long[1];
        Memory memory = new HeapMemory(LAYOUT) {
            @Override
            void read(long at, byte[] into, int from, int length) {
                super.read(at, into, from, length);
                if (line[0] != 0 && word(SlabLayout.C_LOCK) == 0) {
                    word(line[0], word(line[0]) + 2); // a neighbour was replaced meanwhile
                }
            }
        };
        SlabStore store = open(memory, LAYOUT);
        store.put(0, KEY, new byte[20_000], 0, true, SlabStore.ANY);
        line[0] = line(store);
        assertThat(store.reads.copy(0, KEY)).hasSize(20_000);
    }

    @Test
    void readersFollowAChainAsFarAsWriters() {
        SlabStore store =
                new HeapRegion(SlabLayout.ofPages(40, Preset.ADAPTIVE, Policy.SLRU, 16, 1 << 20), Time.system()).open();
        for (int i = 0; i < 5_000; i++) {
            byte[] value = ByteBuffer.allocate(4).putInt(i).array();
            store.put(0, Collisions.key(HeapRegion.SEED, i), value, 0, true, SlabStore.ANY);
        }
        byte[] deep = Collisions.key(HeapRegion.SEED, 5);
        assertThat(store.mutations.index.find(store.mutations.items.hash(0, deep), 0, deep))
                .isNotZero();
        assertThat(ModelSimulation.get(store, deep)).isNotNull();
    }
}
