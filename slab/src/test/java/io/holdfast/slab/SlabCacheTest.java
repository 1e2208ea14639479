package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What every call of the cache answers. */
class SlabCacheTest extends OpenCaches {

    @ParameterizedTest
    @EnumSource(Preset.class)
    void valuesComeBackWhole(Preset preset) {
        SlabCache cache = open(builder().preset(preset));
        Map<Integer, byte[]> put = new HashMap<>();
        for (int i = 0; i < 60; i++) {
            byte[] value = Cargo.value(i, i, 16 + i * 11);
            put.put(i, value);
            assertThat(cache.put(Cargo.key(i), value).stored()).isTrue();
        }
        put.forEach((key, value) -> {
            byte[] got = cache.get(Cargo.key(key));
            assertThat(got == null || java.util.Arrays.equals(got, value)).isTrue();
        });
        assertThat(cache.stats().hits()).isPositive();
    }

    @Test
    void emptyKeyAndEmptyValueAreAKeyAndAValue() {
        SlabCache cache = open();
        assertThat(cache.get(new byte[0])).isNull();
        cache.put(new byte[0], new byte[0]);
        assertThat(cache.get(new byte[0])).isEmpty();
        assertThat(cache.remove(new byte[0])).isEqualTo(Removal.REMOVED);
        assertThat(cache.remove(new byte[0])).isEqualTo(Removal.ABSENT);
    }

    @Test
    void keysWithTheSameHashAreToldApart() {
        // The heads of a small index are few: with so many keys every chain holds several, some with one tag.
        SlabCache cache = open(builder().averageItem(1 << 20).dataPages(40));
        for (int i = 0; i < 3_000; i++) {
            cache.put(Cargo.key(i), Cargo.value(i, 1, 20));
        }
        for (int i = 0; i < 3_000; i++) {
            byte[] value = cache.get(Cargo.key(i));
            assertThat(value != null && Cargo.isOf(i, value)).isTrue();
        }
        for (int i = 0; i < 3_000; i += 2) {
            assertThat(cache.remove(Cargo.key(i))).isEqualTo(Removal.REMOVED);
        }
        for (int i = 0; i < 3_000; i++) {
            assertThat(cache.get(Cargo.key(i)) != null).isEqualTo(i % 2 == 1);
        }
    }

    @Test
    void twoDifferentKeysWithTheSameHash() {
        HeapRegion region = HeapRegion.adaptive(8);
        SlabStore store = region.open();
        byte[] first = Collisions.key(HeapRegion.SEED, 1);
        byte[] second = Collisions.key(HeapRegion.SEED, 2);
        assertThat(store.mutations.items.hash(0, first)).isEqualTo(store.mutations.items.hash(0, second));
        store.put(0, first, bytes("one"), 0, true, SlabStore.ANY);
        store.put(0, second, bytes("two"), 0, true, SlabStore.ANY);
        assertThat(ModelSimulation.get(store, first)).isEqualTo(bytes("one"));
        assertThat(ModelSimulation.get(store, second)).isEqualTo(bytes("two"));
        store.remove(0, first, SlabStore.ANY);
        assertThat(ModelSimulation.get(store, first)).isNull();
        assertThat(ModelSimulation.get(store, second)).isEqualTo(bytes("two"));
        assertThat(store.audit().problems()).isEmpty();
    }

    @Test
    void versionsGrowAndSurviveReplacementAndRemoval() {
        SlabCache cache = open();
        Set<Long> seen = new HashSet<>();
        long last = 0;
        for (int i = 0; i < 20; i++) {
            long version = cache.put(bytes("k"), new byte[i * 50]).version();
            assertThat(version).isGreaterThan(last);
            assertThat(seen.add(version)).isTrue();
            assertThat(cache.getVersioned(bytes("k")))
                    .extracting(Versioned::version)
                    .isEqualTo(version);
            last = version;
            if (i % 5 == 0) {
                cache.remove(bytes("k"));
            }
        }
    }

    @Test
    void compareAndSetWantsTheVersionUnderTheKey() {
        SlabCache cache = open();
        PutResult first = cache.compareAndSet(bytes("k"), 0, bytes("a"));
        assertThat(first.stored()).isTrue();
        PutResult again = cache.compareAndSet(bytes("k"), 0, bytes("b"));
        assertThat(again.outcome()).isEqualTo(PutResult.Outcome.CONFLICT);
        assertThat(again.version()).isEqualTo(first.version());
        assertThat(cache.compareAndSet(bytes("k"), first.version(), bytes("c")).stored())
                .isTrue();
        assertThat(cache.remove(bytes("k"), first.version())).isEqualTo(Removal.ABSENT);
        // The same bytes put again are another version: no ABA.
        cache.put(bytes("k"), bytes("a"));
        assertThat(cache.compareAndSet(bytes("k"), first.version(), bytes("d")).stored())
                .isFalse();
    }

    @Test
    void readLendsAReadOnlyViewThatEndsWithTheCall() {
        SlabCache cache = open();
        cache.put(bytes("k"), bytes("value"));
        MemorySegment[] kept = new MemorySegment[1];
        assertThat(cache.read(bytes("k"), segment -> {
                    kept[0] = segment;
                    return new String(segment.toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
                }))
                .contains("value");
        assertThatThrownBy(() -> kept[0].get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> cache.read(bytes("k"), segment -> {
                    segment.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
                    return 1;
                }))
                .isInstanceOf(RuntimeException.class);
        assertThatThrownBy(() -> cache.read(bytes("k"), segment -> {
                    throw new IllegalArgumentException("mine");
                }))
                .hasMessage("mine");
        assertThat(cache.read(bytes("absent"), segment -> 1)).isEmpty();
    }

    @Test
    void namespacesNeverMeetAndAreClearedAtOnce() {
        SlabCache cache = open();
        SlabNamespace one = cache.namespace("one");
        SlabNamespace two = cache.namespace("two");
        cache.put(bytes("k"), bytes("none"));
        one.put(bytes("k"), bytes("1"));
        two.put(bytes("k"), bytes("2"));
        one.clear();
        assertThat(one.get(bytes("k"))).isNull();
        assertThat(two.get(bytes("k"))).isEqualTo(bytes("2"));
        assertThat(cache.get(bytes("k"))).isEqualTo(bytes("none"));
        one.put(bytes("k"), bytes("3"));
        assertThat(cache.namespace("one").get(bytes("k"))).isEqualTo(bytes("3"));
        assertThat(cache.stats().namespaces()).containsExactly("", "one", "two");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void valuesLapseByTheEarlierOfBothClocks(boolean wallJumps) {
        SlabCache cache = open();
        cache.put(bytes("k"), bytes("v"), Duration.ofSeconds(10));
        time.advance(Duration.ofSeconds(9));
        assertThat(cache.get(bytes("k"))).isEqualTo(bytes("v"));
        if (wallJumps) {
            time.setWall(time.instant().plusSeconds(5));
        } else {
            time.setWall(time.instant().minusSeconds(100));
            time.advance(Duration.ofSeconds(1));
        }
        assertThat(cache.get(bytes("k"))).isNull();
        assertThat(cache.compareAndSet(bytes("k"), 0, bytes("w")).stored()).isTrue();
    }

    @Test
    void dutyTakesBackWhatLapsedAndWasCleared() throws Exception {
        SlabCache cache = open();
        for (int i = 0; i < 50; i++) {
            cache.put(Cargo.key(i), new byte[900], Duration.ofSeconds(1));
            cache.namespace("n").put(Cargo.key(i), new byte[900]);
        }
        cache.put(bytes("stays"), bytes("v"));
        time.advance(Duration.ofSeconds(2));
        cache.namespace("n").clear();
        long reclaimed = 0;
        for (int i = 0; i < 4; i++) {
            reclaimed += cache.reclaimDuty().step().done();
        }
        assertThat(reclaimed).isEqualTo(100);
        assertThat(cache.stats().items()).isEqualTo(1);
        assertThat(cache.get(bytes("stays"))).isNotNull();
    }

    @Test
    void everyValueIsMetByTools() {
        SlabCache cache = open();
        cache.put(bytes("a"), bytes("1"));
        cache.namespace("n").put(bytes("b"), bytes("22"));
        List<String> met = new ArrayList<>();
        cache.forEach(
                true,
                entry -> met.add(entry.namespace() + "/" + new String(entry.key(), StandardCharsets.UTF_8) + "="
                        + java.util.Objects.requireNonNull(entry.value()).length));
        assertThat(met).containsExactlyInAnyOrder("/a=1", "n/b=2");
        assertThat(cache.pages()).hasSize(12);
    }

    @Test
    void outOfMemoryInsideTheCriticalSectionIsRepaired() {
        for (Probe.Point point : Probe.Point.values()) {
            boolean[] armed = new boolean[1];
            HeapRegion region = HeapRegion.adaptive(8);
            SlabStore store = region.open(reached -> {
                if (armed[0] && reached == point) {
                    armed[0] = false;
                    throw new OutOfMemoryError("planted");
                }
            });
            for (int i = 0; i < 900; i++) {
                store.put(0, Cargo.key(i), Cargo.value(i, 1, 600 + i), 0, true, SlabStore.ANY);
            }
            armed[0] = true;
            for (int i = 0; i < 300; i++) {
                try {
                    store.put(0, Cargo.key(i), Cargo.value(i, 2, 500 + 3 * i), 0, true, SlabStore.ANY);
                    store.remove(0, Cargo.key(i + 1), SlabStore.ANY);
                } catch (OutOfMemoryError e) {
                    assertThat(e).hasMessage("planted");
                }
            }
            assertThat(store.audit().problems()).as("after " + point).isEmpty();
            for (int i = 0; i < 900; i++) {
                byte[] value = ModelSimulation.get(store, Cargo.key(i));
                assertThat(value == null || Cargo.isOf(i, value)).isTrue();
            }
        }
    }

    @Test
    void lockOfTheDeadIsTakenAndOfTheLivingIsNot() {
        HeapRegion region = HeapRegion.adaptive(8);
        region.host.become(1);
        SlabStore first = region.open();
        first.put(0, bytes("k"), bytes("v"), 0, true, SlabStore.ANY);
        region.memory.word(SlabLayout.C_LOCK, 7L << Life.PID_SHIFT);
        assertThat(first.put(0, bytes("k"), bytes("w"), 0, true, SlabStore.ANY).outcome())
                .isEqualTo(PutResult.Outcome.BUSY);
        assertThat(ModelSimulation.get(first, bytes("k"))).isEqualTo(bytes("v"));
        region.host.kill(7);
        assertThat(first.put(0, bytes("k"), bytes("w"), 0, true, SlabStore.ANY).stored())
                .isTrue();
        assertThat(Counter.THEFTS.read(region.memory)).isEqualTo(1);
    }

    @Test
    void everyWayToStoreTakesATtl() {
        SlabCache cache = open();
        Duration ttl = Duration.ofSeconds(10);
        cache.safePut(bytes("safe"), bytes("v"), ttl);
        cache.add(bytes("add"), bytes("v"), ttl);
        cache.put(bytes("replace"), bytes("u"));
        cache.replace(bytes("replace"), bytes("v"), ttl);
        cache.compareAndSet(bytes("set"), 0, bytes("v"), ttl);
        cache.putAll(List.of(bytes("all")), List.of(bytes("v")), ttl);
        cache.put(bytes("touch"), bytes("v"));
        assertThat(cache.touch(bytes("touch"), ttl)).isTrue();
        List<byte[]> keys = java.util.stream.Stream.of("safe", "add", "replace", "set", "all", "touch")
                .map(OpenCaches::bytes)
                .toList();
        assertThat(cache.getAll(keys)).allMatch(value -> java.util.Arrays.equals(value, bytes("v")));
        time.advance(ttl);
        assertThat(cache.getAll(keys)).containsOnlyNulls();
    }

    @Test
    void addReplaceAndTouchWantTheKeyAbsentOrThere() {
        SlabCache cache = open();
        assertThat(cache.replace(bytes("k"), bytes("a")).outcome()).isEqualTo(PutResult.Outcome.CONFLICT);
        assertThat(cache.touch(bytes("k"), Duration.ofSeconds(1))).isFalse();
        assertThat(cache.add(bytes("k"), bytes("b")).stored()).isTrue();
        assertThat(cache.add(bytes("k"), bytes("c")).outcome()).isEqualTo(PutResult.Outcome.CONFLICT);
        assertThat(cache.replace(bytes("k"), bytes("d")).stored()).isTrue();
        assertThat(cache.get(bytes("k"))).isEqualTo(bytes("d"));
    }

    @Test
    void clearSaysWhichNamespacesItClears() {
        SlabCache cache = open();
        SlabNamespace named = cache.namespace("n");
        cache.put(bytes("k"), bytes("v"));
        named.put(bytes("k"), bytes("v"));
        cache.clearUnnamed();
        assertThat(cache.get(bytes("k"))).isNull();
        assertThat(named.get(bytes("k"))).isNotNull();
        cache.put(bytes("k"), bytes("v"));
        cache.clearAll();
        assertThat(cache.get(bytes("k"))).isNull();
        assertThat(named.get(bytes("k"))).isNull();
    }

    @Test
    void messageOfNoMemoryNamesKeyAndValue() {
        SlabStore store = HeapRegion.seed(Policy.NONE, 1).open();
        store.put(0, bytes("a"), new byte[3_000], 0, true, SlabStore.ANY);
        assertRefused(
                io.holdfast.HoldfastException.Category.FULL,
                "a key of 1 bytes with a value of 3000 bytes",
                () -> store.put(0, bytes("b"), new byte[3_000], 0, true, SlabStore.ANY));
    }

    @Test
    void reclaimingHoldsTheLockForAFewValuesAtATime() {
        HeapRegion region = HeapRegion.adaptive(20);
        SlabStore store = region.open();
        for (int i = 0; i < 12_000; i++) {
            store.put(0, Cargo.key(i), new byte[20], 0, true, SlabStore.ANY);
        }
        store.clear(0);
        assertThat(store.reclaimGone(256)).isBetween(1, 256);
    }
}
