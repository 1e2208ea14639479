package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.HoldfastException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who may open a cache, what it counts while it is open, and how it ends. */
class SlabLifeTest {

    private static final byte[] SMALL = {1};
    private static final byte[] LARGE = {2};

    @TempDir
    Path directory;

    private SlabCache open() {
        return SlabCache.builder(directory.resolve("cache")).dataPages(12).open();
    }

    @Test
    void fileOfAnotherUserIsRefused() throws IOException {
        SlabCache cache = open();
        Path file = cache.file();
        cache.close();
        boolean root = Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0);
        assumeTrue(root, "only root can give a file away");
        Files.setAttribute(file, "unix:uid", 65_534);
        assertThatThrownBy(this::open).hasMessageContaining("belongs to user 65534");
    }

    @Test
    void hitsAreCountedBySlotFromSamples() {
        SlabCache cache = open();
        cache.put(SMALL, new byte[100]);
        cache.put(LARGE, new byte[3_000]);
        for (int i = 0; i < 640; i++) {
            cache.get(LARGE);
        }
        List<SlabStats.Slot> read =
                cache.stats().slots().stream().filter(slot -> slot.hits() > 0).toList();
        assertThat(read).singleElement().satisfies(slot -> {
            assertThat(slot.chunkBytes()).isGreaterThan(3_000);
            assertThat(slot.hits()).isEqualTo(640);
        });
    }

    @Test
    void callUnderWayWhenTheCacheIsClosedEndsAsUsual() throws Exception {
        SlabCache cache = open();
        byte[] value = new byte[50_000];
        cache.put(SMALL, value);
        AtomicBoolean began = new AtomicBoolean();
        Thread reader = Thread.ofPlatform().start(() -> {
            try {
                while (true) {
                    assertThat(cache.get(SMALL)).hasSize(50_000);
                    began.set(true);
                }
            } catch (HoldfastException e) {
                assertThat(e).hasMessageContaining("is closed");
            }
        });
        await().untilTrue(began);
        cache.close();
        System.gc();
        reader.join();
        assertThatThrownBy(() -> cache.put(SMALL, value)).hasMessageContaining("is closed");
    }
}
