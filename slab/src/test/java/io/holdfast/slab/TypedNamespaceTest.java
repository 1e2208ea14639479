package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Keys and values of types. */
class TypedNamespaceTest extends OpenCaches {

    private static final Duration SECOND = Duration.ofSeconds(1);

    @Test
    void everyCallTakesAndReturnsTheTypes() {
        SlabCache cache = open();
        TypedNamespace<Long, String> users = cache.namespace("users").typed(SlabCodec.number(), SlabCodec.text());
        assertThat(users.get(7L)).isEmpty();
        assertThat(users.put(7L, "Ada").stored()).isTrue();
        assertThat(users.get(7L)).contains("Ada");
        assertThat(users.add(7L, "Eve").stored()).isFalse();
        assertThat(users.replace(7L, "Ada L.").stored()).isTrue();
        assertThat(users.putAll(Map.of(8L, "Kurt", 9L, "Emmy"))).isEqualTo(2);
        assertThat(users.getAll(List.of(9L, 7L, 6L))).containsExactly(Map.entry(9L, "Emmy"), Map.entry(7L, "Ada L."));
        assertThat(users.touch(8L, SECOND)).isTrue();
        time.advance(SECOND);
        assertThat(users.get(8L)).isEmpty();
        assertThat(users.remove(9L)).isEqualTo(Removal.REMOVED);
        users.clear();
        assertThat(users.get(7L)).isEmpty();
        assertThat(users.bytes().name()).isEqualTo("users");
    }

    @Test
    void loadersAndCodecsThrowWhatTheyLike() throws IOException {
        TypedNamespace<String, byte[]> files = open().typed(SlabCodec.text(), SlabCodec.bytes());
        assertThatThrownBy(() -> files.getOrLoad(
                        "a",
                        key -> {
                            throw new IOException("no " + key);
                        },
                        SECOND))
                .isInstanceOf(IOException.class)
                .hasMessage("no a");
        assertThat(files.<IOException>getOrLoad("a", key -> bytes("A"), SECOND, SECOND))
                .hasValueSatisfying(value -> assertThat(value).isEqualTo(bytes("A")));
        assertThat(files.<IOException>getOrLoad("b", key -> null, SECOND)).isEmpty();
        time.advance(SECOND);
        assertThat(files.get("a")).isEmpty();
    }

    @Test
    void summaryHasTheFiguresToWatch() {
        SlabCache cache = open();
        cache.put(bytes("k"), bytes("v"));
        cache.get(bytes("k"));
        cache.get(bytes("l"));
        cache.remove(bytes("k"));
        SlabSummary summary = cache.summary();
        assertThat(summary.values()).isZero();
        assertThat(summary.stored()).isEqualTo(1);
        assertThat(summary.removed()).isEqualTo(1);
        assertThat(summary.hitRatio()).isEqualTo(0.5);
    }
}
