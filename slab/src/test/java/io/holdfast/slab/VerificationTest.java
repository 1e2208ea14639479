package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.Time;
import java.util.HashMap;
import java.util.Map;
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
        assertThat(verifyRest(store)).isGreaterThan(10);
    }

    private static int verifyRest(SlabStore store) {
        int steps = 0;
        while (store.isUnverified()) {
            try {
                store.verify();
            } catch (HoldfastException e) {
                assertThat(e).hasMessageContaining("rebuilt");
            }
            assertThat(steps++).isLessThan(1_000);
        }
        return steps;
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

    /** A value that goes to where the verification has been would be served unchecked once it has ended. */
    @Test
    void damagedValueIsNotMovedBeforeItIsVerified() {
        HeapRegion small = HeapRegion.adaptive(8);
        SlabStore store = small.open();
        for (int i = 0; i < 400; i++) {
            store.put(0, Cargo.key(i), Cargo.value(i, 1, 1_000), 0, true, SlabStore.ANY);
            assertThat(store.reads.copy(0, Cargo.key(i))).isNotNull();
        }
        small.memory.release(SlabLayout.C_UNVERIFIED, 1);
        Map<Integer, Long> places = new HashMap<>();
        for (int i = 0; i < 400; i++) {
            long at = offset(store, i);
            small.memory.word(at + 800, small.memory.word(at + 800) ^ 4);
            places.put(i, at);
        }
        for (int i = 1_000; i < 1_020; i++) {
            store.put(0, Cargo.key(i), new byte[30_000], 0, true, SlabStore.ANY);
        }
        places.forEach((key, place) ->
                assertThat(offset(store, key)).as("place of key %d", key).isIn(place, 0L));
    }

    /** A remove that the damage made miss its value has returned ABSENT: the value must stay away. */
    @Test
    void salvageBringsNoRemovedValueBack() {
        SlabStore store = region.open();
        hide(store, 10);
        assertThat(store.remove(0, Cargo.key(10), SlabStore.ANY)).isEqualTo(Removal.ABSENT);
        verifyAll(store);
        assertThat(Counter.SALVAGES.read(region.memory)).isEqualTo(1);
        assertThat(store.reads.copy(0, Cargo.key(10))).isNull();
        assertThat(store.audit().problems()).isEmpty();
    }

    @Test
    void salvageBringsNoOverwrittenValueBack() {
        SlabStore store = region.open();
        hide(store, 10);
        store.put(0, Cargo.key(10), Cargo.value(10, 2, 50), 0, true, SlabStore.ANY);
        assertThat(store.remove(0, Cargo.key(10), SlabStore.ANY)).isEqualTo(Removal.REMOVED);
        verifyAll(store);
        assertThat(Counter.SALVAGES.read(region.memory)).isEqualTo(1);
        assertThat(store.reads.copy(0, Cargo.key(10))).isNull();
    }

    /** A salvage that dies after it has emptied the index must not take all values for values that were removed. */
    @Test
    void salvageThatDiesOnTheWayKeepsWhatItHadKept() {
        SlabStore dying = region.open(point -> {
            if (point == Probe.Point.SALVAGE_FORMATTED) {
                throw new OutOfMemoryError("planted");
            }
        });
        hide(dying, 10);
        assertThatThrownBy(() -> verifyAll(dying)).hasStackTraceContaining("planted");
        region.host.kill(3);
        region.host.become(4);
        SlabStore store = region.open();
        verifyRest(store);
        assertThat(store.reads.copy(0, Cargo.key(10))).isNull();
        for (int i = 11; i < VALUES; i++) {
            byte[] value = store.reads.copy(0, Cargo.key(i));
            assertThat(value != null && Cargo.isOf(i, value)).as("key %d", i).isTrue();
        }
    }

    /** Damages the head that leads to the key. */
    private void hide(SlabStore store, int key) {
        long at = store.mutations.index.headOf(offset(store, key));
        assertThat(region.memory.word(at) & Index.MORE).as("leads to one value").isZero();
        region.memory.word(at, 0);
    }
}
