package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.Time;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * One mutation of each kind under ADAPTIVE, stopped before every single one of its stores: once to die there, once to read
 * there. What the simulations meet by chance, these meet by name.
 */
class EveryStoreTest {

    private static final SlabLayout LAYOUT = SlabLayout.ofPages(4, Preset.ADAPTIVE, Policy.SLRU, 13, 512);
    private static final int LENGTH = 690;
    private static final int SLOT = LAYOUT.sizes.slotFor(LENGTH + Items.HEADER + Integer.BYTES);
    /** As many values as the region holds. */
    private static final int VALUES = LAYOUT.pages * LAYOUT.sizes.chunksPerPage(SLOT);

    /** A second death in the repair after each store: at a few of its stores, with {@code -Dshapes=full} at most of them. */
    private static final int REPAIRS_APART = "full".equals(System.getProperty("shapes")) ? 1 : 9;

    private static final int KEY = 5;
    private static final int NEW_KEY = 1_000;

    /** What happens to which key, and what else it may cost. */
    enum Mutation {
        REWRITTEN(KEY, LENGTH, 0),
        REWRITTEN_IN_ANOTHER_LENGTH(KEY, LENGTH - 2, 0),
        REPLACED_ELSEWHERE(KEY, 100, LAYOUT.sizes.chunksPerPage(SLOT)),
        REPLACED_BY_A_RUN_OF_UNITS(KEY, 3_000, LAYOUT.sizes.chunksPerPage(SLOT)),
        STORED_FOR_A_VICTIM_AFTER_OTHERS_WENT_ROUND(NEW_KEY, LENGTH, 1),
        STORED_AS_A_RUN_OF_UNITS(NEW_KEY, 3_000, LAYOUT.sizes.chunksPerPage(SLOT)),
        REMOVED(KEY, -1, 0);

        final int key;
        final int length;
        final int othersLostMost;

        Mutation(int key, int length, int othersLostMost) {
            this.key = key;
            this.length = length;
            this.othersLostMost = othersLostMost;
        }

        byte @Nullable [] value() {
            return length < 0 ? null : EveryStoreTest.value(key, length, 77);
        }

        void perform(SlabStore store, long ttl) {
            byte[] value = value();
            if (value == null) {
                assertThat(store.remove(0, key(key), SlabStore.ANY)).isEqualTo(Removal.REMOVED);
            } else {
                assertThat(store.put(0, key(key), value, ttl, true, SlabStore.ANY)
                                .stored())
                        .isTrue();
            }
        }
    }

    /** One with each mutation, and one with each mutation of values that lapse in an hour. */
    static Stream<Arguments> mutations() {
        return Arrays.stream(Mutation.values())
                .flatMap(mutation ->
                        Stream.of(0L, Duration.ofHours(1).toNanos()).map(ttl -> Arguments.of(mutation, ttl)));
    }

    private static byte[] key(int number) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(number).array();
    }

    /** No two halves of two of them are alike. */
    private static byte[] value(int key, int length, int salt) {
        byte[] value = new byte[length];
        for (int i = 0; i < length; i++) {
            value[i] = (byte) (key * 31 + salt + i / 97);
        }
        return value;
    }

    /** Fills the region with values that stay, and reads those that are next to go: the next put spares them. */
    private static void fill(SlabStore store, long ttl) {
        for (int i = 0; i < VALUES + 8; i++) {
            assertThat(store.put(0, key(i), value(i, LENGTH, 0), ttl, true, SlabStore.ANY)
                            .stored())
                    .isTrue();
            if (i < VALUES) {
                assertThat(get(store, i)).isNotNull();
            }
        }
        Slots slots = store.mutations.slots;
        readAt(store, slots.oldest(SLOT, true));
        for (int next = slots.oldest(SLOT, false); next != 0; ) {
            next = store.mutations.items.newer(readAt(store, next));
        }
    }

    private static long readAt(SlabStore store, int reference) {
        Items items = store.mutations.items;
        long offset = items.offset(reference);
        int key = ByteBuffer.wrap(items.key(offset, items.shape(offset))).getInt();
        assertThat(get(store, key)).isNotNull();
        return offset;
    }

    private static @Nullable Versioned get(SlabStore store, int key) {
        return store.reads.get(0, key(key), (memory, at, length, version) -> {
            byte[] value = new byte[length];
            memory.read(at, value, 0, length);
            return new Versioned(value, version);
        });
    }

    private static Map<Integer, byte[]> held(SlabStore store) {
        Map<Integer, byte[]> held = new TreeMap<>();
        for (int i = 0; i < VALUES + 8; i++) {
            Versioned found = get(store, i);
            if (found != null) {
                held.put(i, found.value());
            }
        }
        return held;
    }

    private static SlabStore open(Memory memory, HeapRegion.FakeHost host) {
        SlabStore store = new SlabStore(memory, LAYOUT, HeapRegion.SEED, host, Time.system(), Probe.NONE, 50_000_000);
        store.attach();
        return store;
    }

    @ParameterizedTest
    @MethodSource("mutations")
    void deathBeforeAnyStoreLosesNothingButTheValueInHand(Mutation mutation, long ttl) {
        new Deaths(mutation, ttl).run();
    }

    private static final class Deaths {

        private final Mutation mutation;
        private final long ttl;
        private final MortalMemory memory = new MortalMemory(LAYOUT);
        private final HeapRegion.FakeHost host = new HeapRegion.FakeHost();
        private final Map<Integer, byte[]> before;
        private int process = 1;

        Deaths(Mutation mutation, long ttl) {
            this.mutation = mutation;
            this.ttl = ttl;
            SlabStore.format(memory, LAYOUT, 1);
            SlabStore store = next();
            fill(store, ttl);
            long[] filled = memory.snapshot();
            before = held(store);
            assertThat(before).containsKey(KEY);
            memory.restore(filled); // reading changes what goes next
        }

        /** The next process, after the death of the last. */
        private SlabStore next() {
            host.kill(process);
            host.become(++process);
            return open(memory, host);
        }

        void run() {
            long[] start = memory.snapshot();
            int oldest = next().mutations.slots.oldest(SLOT, true);
            for (int stores = 0; ; stores++) {
                memory.restore(start);
                SlabStore store = next();
                memory.dieAfter(stores);
                try {
                    mutation.perform(store, ttl);
                    memory.revive();
                    check(store, true);
                    checkKind(store, oldest);
                    return;
                } catch (MortalMemory.Dead e) {
                    memory.revive();
                }
                long[] left = memory.snapshot();
                check(next(), false);
                for (int repaired = stores % REPAIRS_APART; repaired < 24; repaired += REPAIRS_APART + stores % 3) {
                    memory.restore(left);
                    memory.dieAfter(repaired);
                    try {
                        next();
                    } catch (MortalMemory.Dead e) {
                        // Died while repairing.
                    }
                    memory.revive();
                    check(next(), false);
                }
            }
        }

        private void check(SlabStore store, boolean done) {
            assertThat(store.audit().problems()).isEmpty();
            assertThat(store.hasReserved()).isFalse();
            assertThat(Counter.SALVAGES.read(memory)).isZero();
            Map<Integer, byte[]> after = held(store);
            int lost = 0;
            for (Map.Entry<Integer, byte[]> entry : before.entrySet()) {
                if (entry.getKey() != mutation.key) {
                    byte[] value = after.get(entry.getKey());
                    lost += value == null ? 1 : 0;
                    assertThat(value == null || Arrays.equals(value, entry.getValue()))
                            .as("the value under another key is what it was")
                            .isTrue();
                }
            }
            assertThat(lost).as("values under other keys that are gone").isLessThanOrEqualTo(mutation.othersLostMost);
            Versioned found = get(store, mutation.key);
            if (done) {
                assertThat(found == null ? null : found.value()).isEqualTo(mutation.value());
            } else if (found != null) {
                assertThat(found.value()).isIn(before.get(mutation.key), mutation.value());
            }
        }

        /** Whether the mutation was of the kind that its name says. */
        private void checkKind(SlabStore store, int oldest) {
            Slots slots = store.mutations.slots;
            switch (mutation) {
                case REWRITTEN, REWRITTEN_IN_ANOTHER_LENGTH ->
                    assertThat(slots.oldest(SLOT, true)).isEqualTo(oldest);
                case STORED_FOR_A_VICTIM_AFTER_OTHERS_WENT_ROUND -> {
                    long offset = store.mutations.items.offset(oldest);
                    assertThat(store.mutations.items.checksum(offset)).isNotZero();
                    assertThat(store.mutations.items.older(offset))
                            .as("what was oldest has others before it")
                            .isNotZero();
                }
                case REPLACED_ELSEWHERE, REPLACED_BY_A_RUN_OF_UNITS, STORED_AS_A_RUN_OF_UNITS, REMOVED ->
                    assertThat(slots.items(SLOT)).isLessThan(VALUES);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("mutations")
    void readBeforeAnyStoreSeesOneValueWholeWithItsVersion(Mutation mutation, long ttl) {
        Readings memory = new Readings(mutation.key);
        SlabStore.format(memory, LAYOUT, 1);
        HeapRegion.FakeHost host = new HeapRegion.FakeHost();
        SlabStore writer = open(memory, host);
        fill(writer, ttl);
        Versioned old = get(writer, mutation.key);
        memory.reader = open(memory, host);
        mutation.perform(writer, ttl);
        memory.reader = null;
        Versioned now = get(writer, mutation.key);
        assertThat(memory.readings).isPositive();
        for (byte[] copy : memory.copies) {
            assertThat(copy).isIn(valueOf(old), valueOf(now));
        }
        for (Versioned seen : memory.seen.values()) {
            assertThat(seen.version()).isIn(versionOf(old), versionOf(now));
            assertThat(seen.value()).isEqualTo(valueOf(seen.version() == versionOf(old) ? old : now));
        }
    }

    private static long versionOf(@Nullable Versioned versioned) {
        return versioned == null ? 0 : versioned.version();
    }

    private static byte @Nullable [] valueOf(@Nullable Versioned versioned) {
        return versioned == null ? null : versioned.value();
    }

    /** Reads a key before every store of somebody else. */
    private static final class Readings extends SteppedMemory {

        private final int key;
        private final Map<Integer, Versioned> seen = new TreeMap<>();
        private final List<byte[]> copies = new ArrayList<>();
        private @Nullable SlabStore reader;
        private int readings;

        Readings(int key) {
            super(LAYOUT);
            this.key = key;
        }

        @Override
        void beforeStore() {
            SlabStore store = reader;
            if (store == null) {
                return;
            }
            reader = null; // a read stores, too: how often and when
            Versioned found = get(store, key);
            byte[] copy = store.reads.copy(0, key(key));
            if (copy != null) {
                copies.add(copy);
            }
            reader = store;
            readings++;
            if (found != null) {
                seen.put(readings, found);
            }
        }
    }
}
