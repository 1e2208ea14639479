package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ManualTime;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

/** Caches of a test: closed after it, and every count of theirs found right. */
abstract class OpenCaches {

    @TempDir
    Path directory;

    final ManualTime time = new ManualTime();
    private final List<SlabCache> opened = new ArrayList<>();

    @AfterEach
    void everyCountIsRight() {
        for (SlabCache cache : opened) {
            try {
                assertThat(cache.audit().problems()).isEmpty();
            } catch (HoldfastException e) {
                assertThat(e).hasMessageContaining("closed");
            }
            cache.close();
        }
    }

    final SlabCache.Builder builder() {
        return SlabCache.builder(directory.resolve("cache")).dataPages(12).time(time);
    }

    final SlabCache open(SlabCache.Builder builder) {
        SlabCache cache = builder.open();
        opened.add(cache);
        return cache;
    }

    final SlabCache open() {
        return open(builder());
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static void assertRefused(Category category, String said, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(category))
                .hasMessageContaining(said);
    }
}
