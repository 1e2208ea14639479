package io.holdfast.slab;

import io.holdfast.Time;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** A region in an array, with a host whose processes live and die as the test says. */
final class HeapRegion {

    static final long SEED = 0x5eed;

    /** Processes by number; all live until they are killed. */
    static final class FakeHost implements Host, Life {
        private final Set<Long> dead = new HashSet<>();
        private long me = 1L << PID_SHIFT;

        void become(int process) {
            me = (long) process << PID_SHIFT;
        }

        void kill(int process) {
            dead.add((long) process << PID_SHIFT);
        }

        @Override
        public long bootHigh() {
            return 1;
        }

        @Override
        public long bootLow() {
            return 2;
        }

        @Override
        public Life join(Descriptor descriptor) {
            descriptor.close();
            return this;
        }

        @Override
        public long me() {
            return me;
        }

        @Override
        public boolean isAlive(long process) {
            return !dead.contains(process);
        }
    }

    final SlabLayout layout;
    final Memory memory;
    final FakeHost host = new FakeHost();
    final Time time;

    HeapRegion(SlabLayout layout, Time time) {
        this.layout = layout;
        this.time = time;
        this.memory = new HeapMemory(layout);
        SlabStore.format(memory, layout, 1);
    }

    static HeapRegion seed(Policy policy, int pages) {
        return new HeapRegion(SlabLayout.ofPages(pages, Preset.SEED, policy, 12, 128), Time.system());
    }

    static HeapRegion adaptive(int pages) {
        return new HeapRegion(SlabLayout.ofPages(pages, Preset.ADAPTIVE, Policy.SLRU, 16, 512), Time.system());
    }

    /** A cache of one or more shards in arrays, attached to. */
    static Shards shards(SlabLayout layout, Time time) {
        List<Memory> memories = new ArrayList<>();
        for (int i = 0; i < layout.shards; i++) {
            memories.add(new HeapMemory(layout));
        }
        Shards.format(memories, layout, 0);
        Shards shards = new Shards(memories, layout, SEED, new FakeHost(), time, Probe.NONE, 50_000_000);
        shards.attach();
        return shards;
    }

    SlabStore open() {
        return open(Probe.NONE);
    }

    /** Another view of the same memory, as another process would have it. */
    SlabStore open(Probe probe) {
        SlabStore store = new SlabStore(memory, layout, SEED, host, time, probe, 50_000_000);
        store.attach();
        return store;
    }
}
