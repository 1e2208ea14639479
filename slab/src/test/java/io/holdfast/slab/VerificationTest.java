package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.Time;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A large region whose processes were all killed is used at once, and checked meanwhile. */
class VerificationTest {

    private static final int VALUES = 3_000;

    private final HeapRegion region =
            new HeapRegion(SlabLayout.ofPages(640, Preset.ADAPTIVE, Policy.SLRU, 16, 1 << 14), Time.system());

    @BeforeEach
    void fillAndDie() {
        region.host.become(2);
        SlabStore store = region.open();
        for (int i = 0; i < VALUES; i++) {
            store.put(0, Cargo.key(i), Cargo.value(i, 1, i % 10 == 0 ? 30_000 : 900), 0, true, SlabStore.ANY);
        }
        region.host.kill(2);
        region.host.become(3);
    }

    private static long offset(SlabStore store, int key) {
        return store.mutations.index.find(store.mutations.items.hash(0, Cargo.key(key)), 0, Cargo.key(key));
    }

    private static void verifyAll(SlabStore store) {
        int steps = 0;
        while (store.isUnverified()) {
            try {
                store.verify();
            } catch (io.holdfast.HoldfastException e) {
                assertThat(e).hasMessageContaining("rebuilt");
            }
            assertThat(steps++).isLessThan(1_000);
        }
        assertThat(steps).isGreaterThan(10);
    }

    @Test
    void openingWalksNothingAndServesWholeValues() {
        SlabStore store = region.open();
        assertThat(store.isUnverified()).isTrue();
        for (int i = 0; i < VALUES; i += 7) {
            byte[] value = store.reads.copy(0, Cargo.key(i));
            assertThat(value != null && Cargo.isOf(i, value)).isTrue();
        }
        SlabStore second = region.open();
        assertThat(second.isUnverified()).isTrue();
        verifyAll(store);
        assertThat(Counter.SALVAGES.read(region.memory)).isZero();
        assertThat(store.audit().problems()).isEmpty();
    }

    @Test
    void damagedValueIsAbsentBeforeItIsVerifiedAndDroppedThen() {
        SlabStore store = region.open();
        long at = offset(store, 10) + 800;
        region.memory.word(at, region.memory.word(at) ^ 4);
        assertThat(store.reads.copy(0, Cargo.key(10))).isNull();
        assertThat(store.reads.copy(0, Cargo.key(11))).isNotNull();
        verifyAll(store);
        assertThat(Counter.SALVAGES.read(region.memory)).isEqualTo(1);
        assertThat(store.reads.copy(0, Cargo.key(10))).isNull();
        assertThat(store.reads.copy(0, Cargo.key(11))).isNotNull();
        assertThat(store.audit().problems()).isEmpty();
    }

    @Test
    void chunkThatItsPageDoesNotKnowIsFound() {
        SlabStore store = region.open();
        Pages pages = store.mutations.pages;
        int page = pages.areaOf(offset(store, 11));
        region.memory.word(pages.stateAt(page), region.memory.word(pages.stateAt(page)) - 1); // one carved less
        verifyAll(store);
        assertThat(Counter.SALVAGES.read(region.memory)).isEqualTo(1);
        assertThat(store.audit().problems()).isEmpty();
    }

    @Test
    void writesMeanwhileAreRight() {
        SlabStore store = region.open();
        for (int i = 0; store.isUnverified(); i++) {
            store.verify();
            int key = i * 31 % VALUES;
            store.put(0, Cargo.key(key), Cargo.value(key, i, 100 + i * 977 % 50_000), 0, true, SlabStore.ANY);
            store.remove(0, Cargo.key(i * 17 % VALUES), SlabStore.ANY);
        }
        assertThat(Counter.SALVAGES.read(region.memory)).isZero();
        assertThat(store.audit().problems()).isEmpty();
        for (int i = 0; i < VALUES; i++) {
            byte[] value = store.reads.copy(0, Cargo.key(i));
            assertThat(value == null || Cargo.isOf(i, value)).isTrue();
        }
    }
}
