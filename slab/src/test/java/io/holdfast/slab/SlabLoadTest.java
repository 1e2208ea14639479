package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException.Category;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Loading a missing value once for the whole host, and what voids a load. */
class SlabLoadTest extends OpenCaches {

    @Test
    void loaderIsCalledOnceAndItsValueKept() {
        SlabCache cache = open();
        int[] loads = new int[1];
        for (int i = 0; i < 3; i++) {
            assertThat(cache.getOrLoad(
                            bytes("k"),
                            key -> {
                                loads[0]++;
                                return bytes("loaded");
                            },
                            Duration.ofSeconds(1)))
                    .isEqualTo(bytes("loaded"));
        }
        assertThat(loads[0]).isEqualTo(1);
        assertThat(cache.getOrLoad(bytes("nothing"), key -> null, Duration.ofSeconds(1)))
                .isNull();
        assertThatThrownBy(() -> cache.getOrLoad(
                        bytes("bad"),
                        key -> {
                            throw new IllegalStateException("database down");
                        },
                        Duration.ofSeconds(1)))
                .hasMessage("database down");
        assertThat(cache.getOrLoad(bytes("bad"), key -> bytes("up again"), Duration.ofSeconds(1)))
                .isEqualTo(bytes("up again"));
    }

    @Test
    void removeDuringAPendingLoadVoidsIt() {
        SlabCache cache = open();
        byte[] value = cache.getOrLoad(
                bytes("k"),
                key -> {
                    cache.remove(bytes("k"));
                    return bytes("stale");
                },
                Duration.ofSeconds(1));
        assertThat(value).isEqualTo(bytes("stale"));
        assertThat(cache.get(bytes("k"))).isNull();
    }

    @Test
    void putDuringAPendingLoadWins() {
        SlabCache cache = open();
        cache.getOrLoad(
                bytes("k"),
                key -> {
                    cache.put(bytes("k"), bytes("fresh"));
                    return bytes("stale");
                },
                Duration.ofSeconds(1));
        assertThat(cache.get(bytes("k"))).isEqualTo(bytes("fresh"));
    }

    @Test
    void clearDuringAPendingLoadVoidsIt() {
        SlabCache cache = open();
        cache.getOrLoad(
                bytes("k"),
                key -> {
                    cache.clear();
                    return bytes("stale");
                },
                Duration.ofSeconds(1));
        assertThat(cache.get(bytes("k"))).isNull();
    }

    @Test
    void waitingForALoaderEnds() {
        SlabCache cache = open();
        cache.getOrLoad(
                bytes("k"),
                key -> {
                    assertRefused(
                            Category.RETRY,
                            "still being loaded",
                            () -> cache.getOrLoad(bytes("k"), other -> bytes("x"), Duration.ofMillis(5)));
                    return bytes("v");
                },
                Duration.ofSeconds(1));
        assertThat(cache.get(bytes("k"))).isEqualTo(bytes("v"));
    }
}
