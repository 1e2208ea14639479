package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The rules of the original algorithm, in zones of one to four data pages of 4 KiB. A letter is a size: {@code s} takes
 * a chunk of 1,024 bytes (four to a page), {@code m} of 2,048 (two), {@code t} of 512 (eight), {@code p} a whole page,
 * {@code P} two pages, {@code Q} three.
 */
class SeedScenarioTest {

    @TempDir
    Path directory;

    @SuppressWarnings("NullAway.Init") // every test makes its zone first
    private SlabCache cache;

    private int files;

    @AfterEach
    void everyCountIsRight() {
        assertThat(cache.audit().problems()).isEmpty();
        cache.close();
    }

    private void zone(int pages, Policy policy) {
        cache = SlabCache.builder(directory.resolve("zone" + files++))
                .preset(Preset.SEED)
                .policy(policy)
                .dataPages(pages)
                .open();
    }

    private static String[] words(String line) {
        return line.split(" ", -1);
    }

    private static byte[] key(String name) {
        return name.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] value(char size) {
        return new byte
                [switch (size) {
                    case 't' -> 400;
                    case 's' -> 900;
                    case 'm' -> 1_800;
                    case 'p' -> 4_000;
                    case 'P' -> 8_000;
                    case 'Q' -> 12_000;
                    default -> throw new IllegalArgumentException("no size " + size);
                }];
    }

    private PutResult put(String name) {
        return cache.put(key(name), value(name.charAt(0)));
    }

    private List<String> alive(String names) {
        List<String> alive = new ArrayList<>();
        for (String name : words(names)) {
            if (cache.getVersioned(key(name)) != null) {
                alive.add(name);
            }
        }
        return alive;
    }

    @ParameterizedTest(name = "{0}, {1} pages: {2} leaves {3}")
    @CsvSource({
        // own slot first
        "SLRU, 1, s1 s2 s3 s4 s5 s6 s7 s8 s9 s10, s7 s8 s9 s10",
        "LRU,  1, s1 s2 s3 s4 s5 s6 s7 s8 s9 s10, s7 s8 s9 s10",
        "SLRU, 2, s1 s2 s3 s4 m1 m2 m3, s1 s2 s3 s4 m2 m3",
        "LRU,  2, s1 s2 s3 s4 m1 m2 m3, m1 m2 m3",
        "SLRU, 2, m1 m2 s1 s2 s3 s4 s5, m1 m2 s2 s3 s4 s5",
        "LRU,  2, m1 m2 s1 s2 s3 s4 s5, s1 s2 s3 s4 s5",
        // a slot with no values takes a page from the next larger one in use
        "SLRU, 1, m1 m2 s1, s1",
        "SLRU, 2, m1 m2 m3 m4 s1, m3 m4 s1",
        "SLRU, 2, m1 p1 s1, p1 s1",
        "SLRU, 2, t1 m1 m2 s1, t1 s1",
        "SLRU, 3, t1 m1 p1 s1, t1 p1 s1",
        // larger ones before smaller ones, page runs included
        "SLRU, 2, t1 p1 s1, t1 s1",
        "SLRU, 3, t1 P1 s1, t1 s1",
        // the largest smaller slot first
        "SLRU, 1, s1 s2 s3 s4 s5 s6 s7 s8 s9 m1, m1",
        "SLRU, 2, t1 s1 m1, t1 m1",
        "SLRU, 2, t1 s1 s2 s3 m1 m2 m3, t1 m2 m3",
        // victims come in order of use, not of pages: both pages lose values until one is empty
        "SLRU, 2, s1 s2 s3 s4 s5 s6 s7 s8 m1, s5 s6 s7 s8 m1",
        // large values: own order of magnitude, larger, smaller, until a run is long enough
        "SLRU, 2, P1 P2, P2",
        "SLRU, 4, P1 P2 P3, P2 P3",
        "SLRU, 3, Q1 P1, P1",
        "SLRU, 4, Q1 p1 P1, p1 P1",
        "SLRU, 3, p1 p2 p3 P1, p3 P1",
        "SLRU, 3, s1 m1 t1 Q1, Q1",
        "LRU,  4, s1 P1 s2 p1 P2, s2 p1 P2",
        // nothing evicted while there is room
        "SLRU, 4, s1 m1 t1 p1 s2 s3 s4 m2, s1 m1 t1 p1 s2 s3 s4 m2",
        "NONE, 1, s1 s2 s3 s4, s1 s2 s3 s4",
    })
    void leaves(Policy policy, int pages, String puts, String left) {
        zone(pages, policy);
        for (String name : words(puts)) {
            assertThat(put(name).stored()).isTrue();
        }
        assertThat(alive(puts)).containsExactly(words(left));
    }

    @ParameterizedTest
    @CsvSource({"SLRU, 1", "LRU, 4"})
    void secondClassInAFullZoneEvictsExactly(Policy policy, int evicted) {
        zone(2, policy);
        for (String name : words("s1 s2 s3 s4 m1 m2")) {
            assertThat(put(name).evicted()).isZero();
        }
        assertThat(put("m3").evicted()).isEqualTo(evicted);
    }

    @Test
    void touchingAnItemKeepsIt() {
        zone(1, Policy.SLRU);
        for (String name : words("s1 s2 s3 s4")) {
            put(name);
        }
        assertThat(cache.get(key("s1"))).hasSize(900);
        put("s5");
        put("s6");
        assertThat(alive("s1 s2 s3 s4 s5 s6")).containsExactly("s1", "s4", "s5", "s6");
    }

    @Test
    void touchesCountInTheirOrder() {
        zone(1, Policy.SLRU);
        for (String name : words("s1 s2 s3 s4")) {
            put(name);
        }
        for (String name : words("s4 s2 s3 s1")) {
            cache.get(key(name));
        }
        put("s5");
        put("s6");
        assertThat(alive("s1 s2 s3 s4 s5 s6")).containsExactly("s1", "s3", "s5", "s6");
    }

    @Test
    void puttingAgainCountsAsUse() {
        zone(1, Policy.SLRU);
        for (String name : words("s1 s2 s3 s4 s1 s5")) {
            put(name);
        }
        assertThat(alive("s1 s2 s3 s4 s5")).containsExactly("s1", "s3", "s4", "s5");
    }

    @Test
    void touchesAreAppliedEvenWhenNobodyPuts() {
        zone(1, Policy.SLRU);
        for (String name : words("s1 s2 s3 s4")) {
            put(name);
        }
        for (int i = 0; i < SlabLayout.RING * 3; i++) {
            cache.get(key("s" + (2 + i % 3)));
        }
        cache.get(key("s1"));
        put("s5");
        assertThat(alive("s1")).containsExactly("s1");
    }

    @Test
    void withPolicyNoneTheFifthFails() {
        zone(1, Policy.NONE);
        for (String name : words("s1 s2 s3 s4")) {
            put(name);
        }
        assertThatThrownBy(() -> put("s5"))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.FULL))
                .hasMessageContaining("no memory");
        assertThat(alive("s1 s2 s3 s4 s5")).containsExactly("s1", "s2", "s3", "s4");
    }

    @Test
    void safePutNeverEvicts() {
        zone(1, Policy.SLRU);
        for (String name : words("s1 s2 s3 s4")) {
            assertThat(cache.safePut(key(name), value('s')).stored()).isTrue();
        }
        assertThat(cache.safePut(key("s5"), value('s')).outcome()).isEqualTo(PutResult.Outcome.NO_ROOM);
        assertThat(cache.safePut(key("s2"), value('s')).stored()).isTrue();
        assertThat(alive("s1 s2 s3 s4")).hasSize(4);
    }

    @Test
    void valueBiggerThanTheZoneIsRefused() {
        zone(2, Policy.SLRU);
        put("s1");
        assertThatThrownBy(() -> cache.put(key("x"), new byte[2 * 4096]))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.MISUSE))
                .hasMessageContaining("8192");
        assertThat(alive("s1")).containsExactly("s1");
    }

    @Test
    void valueAsBigAsTheZoneEvictsEverything() {
        zone(2, Policy.SLRU);
        put("s1");
        put("m1");
        byte[] all = new byte[2 * 4096 - Items.HEADER - 1];
        assertThat(cache.put(key("x"), all).evicted()).isEqualTo(2);
        assertThat(cache.get(key("x"))).isEqualTo(all);
    }

    @Test
    void leastRecentlyUsedIsReplacedByALargerOneInAFullZone() {
        zone(2, Policy.SLRU);
        for (String name : words("s1 s2 s3 s4 m1 m2")) {
            put(name);
        }
        assertThat(cache.put(key("s1"), value('m')).evicted()).isEqualTo(1);
        assertThat(alive("s1 s2 s3 s4 m1 m2")).containsExactly("s1", "s2", "s3", "s4", "m2");
        assertThat(cache.get(key("s1"))).hasSize(1_800);
        assertThat(cache.stats().items()).isEqualTo(5);
    }

    @Test
    void onlyValueOfTheZoneIsReplacedByALargerOne() {
        zone(1, Policy.SLRU);
        put("s1");
        assertThat(cache.put(key("s1"), value('m')).stored()).isTrue();
        assertThat(cache.get(key("s1"))).hasSize(1_800);
        assertThat(cache.put(key("s1"), value('p')).stored()).isTrue();
        assertThat(cache.get(key("s1"))).hasSize(4_000);
    }

    @Test
    void failedReplacementKeepsTheOldValue() {
        zone(1, Policy.NONE);
        put("s1");
        assertThatThrownBy(() -> cache.put(key("s1"), value('m'))).isInstanceOf(HoldfastException.class);
        assertThat(cache.get(key("s1"))).hasSize(900);
    }

    @Test
    void shrunkInPlaceItIsStillEvictedFromTheSlotItOccupies() {
        zone(1, Policy.SLRU);
        for (String name : words("s1 s2 s3 s4")) {
            put(name);
        }
        assertThat(cache.put(key("s1"), new byte[10]).evicted()).isZero();
        assertThat(cache.stats().slots().stream()
                        .mapToLong(SlabStats.Slot::pages)
                        .sum())
                .isEqualTo(1);
        put("s5");
        put("s6");
        put("s7");
        assertThat(alive("s1 s2 s3 s4 s5 s6 s7")).containsExactly("s1", "s5", "s6", "s7");
        put("s8");
        assertThat(alive("s1")).isEmpty();
    }

    @Test
    void freedPagesOfALargeValueAreJoined() {
        zone(4, Policy.NONE);
        put("p1");
        put("p2");
        put("p3");
        put("p4");
        for (String name : words("p2 p4 p3 p1")) {
            cache.remove(key(name));
        }
        assertThat(cache.put(key("x"), new byte[4 * 4096 - 40]).stored()).isTrue();
    }
}
