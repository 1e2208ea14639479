package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A cache of several shards is one cache. */
class ShardsTest {

    private static final int SHARDS = 4;
    private static final int KEYS = 1_000;

    @TempDir
    Path directory;

    private SlabCache open() {
        return SlabCache.builder(directory.resolve("cache"))
                .size(8 << 20)
                .shards(SHARDS)
                .busyAfter(Duration.ofMillis(20))
                .open();
    }

    private static SlabCache filled(SlabCache cache) {
        for (int i = 0; i < KEYS; i++) {
            cache.put(Cargo.key(i), Cargo.value(i, 1, 100 + i));
        }
        return cache;
    }

    private static void lock(SlabCache cache, int shard, long holder) throws IOException {
        long size;
        try (FileChannel channel = FileChannel.open(cache.file(), StandardOpenOption.WRITE)) {
            size = channel.size() / SHARDS;
            ByteBuffer word = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
            channel.write(word.putLong(holder).flip(), shard * size + SlabLayout.C_LOCK);
        }
    }

    @Test
    void keysAreSpreadAndEachIsFoundAgain() {
        Shards shards = HeapRegion.shards(
                SlabLayout.ofPages(16, Preset.ADAPTIVE, Policy.SLRU, 16, 512).times(SHARDS), Time.system());
        for (int i = 0; i < KEYS; i++) {
            shards.of(shards.hash(0, Cargo.key(i))).put(0, Cargo.key(i), new byte[100], 0, true, SlabStore.ANY);
        }
        assertThat(shards.all()).allSatisfy(store -> {
            assertThat(store.audit().items()).isBetween(KEYS / SHARDS / 2L, KEYS / SHARDS * 2L);
            assertThat(store.audit().problems()).isEmpty();
        });
        assertThat(shards.audit().items()).isEqualTo(KEYS);
    }

    @Test
    void noVersionIsGivenTwice() {
        try (SlabCache cache = open()) {
            Set<Long> versions = new HashSet<>();
            for (int i = 0; i < KEYS; i++) {
                assertThat(versions.add(
                                cache.put(Cargo.key(i % 100), new byte[10]).version()))
                        .isTrue();
            }
            assertThat(cache.stats().version())
                    .isEqualTo(versions.stream().max(Long::compare).orElseThrow());
        }
    }

    @Test
    void figuresAreOfAllShards() {
        try (SlabCache cache = filled(open())) {
            for (int i = 0; i < KEYS; i++) {
                assertThat(cache.get(Cargo.key(i))).isNotNull();
            }
            assertThat(cache.get(Cargo.key(KEYS))).isNull();
            cache.remove(Cargo.key(0));
            SlabStats stats = cache.stats();
            assertThat(stats.shards()).isEqualTo(SHARDS);
            assertThat(stats.items()).isEqualTo(KEYS - 1);
            assertThat(stats.hits()).isEqualTo(KEYS);
            assertThat(stats.misses()).isEqualTo(1);
            assertThat(stats.stored()).isEqualTo(KEYS);
            assertThat(stats.processes()).singleElement().satisfies(process -> {
                assertThat(process.stored()).isEqualTo(KEYS);
                assertThat(process.removed()).isEqualTo(1);
                assertThat(process.hits()).isEqualTo(KEYS);
            });
            assertThat(cache.pages())
                    .hasSize(stats.pages())
                    .extracting(SlabPage::number)
                    .containsExactlyElementsOf(
                            IntStream.range(0, stats.pages()).boxed().toList());
            assertThat(cache.audit().problems()).isEmpty();
            assertThat(cache.audit().items()).isEqualTo(KEYS - 1);
            Set<Integer> pages = new HashSet<>();
            cache.forEach(false, entry -> pages.add(entry.page()));
            assertThat(pages)
                    .allSatisfy(
                            page -> assertThat(cache.pages().get(page).used()).isPositive());
            assertThat(pages).anyMatch(page -> page >= stats.pages() / SHARDS * (SHARDS - 1));
        }
    }

    @Test
    void clearClearsEveryShardOfOneNamespace() {
        try (SlabCache cache = filled(open())) {
            SlabNamespace named = cache.namespace("named");
            for (int i = 0; i < KEYS; i++) {
                named.put(Cargo.key(i), new byte[10]);
            }
            cache.clearUnnamed();
            for (int i = 0; i < KEYS; i++) {
                assertThat(cache.get(Cargo.key(i))).isNull();
                assertThat(named.get(Cargo.key(i))).isNotNull();
            }
            Set<String> names = new HashSet<>();
            cache.forEach(false, entry -> names.add(entry.namespace()));
            assertThat(names).containsExactly("named");
        }
    }

    @Test
    void lockOfOneShardKeepsNobodyFromTheOthers() throws IOException {
        try (SlabCache cache = open()) {
            Life living = new FileLife(Descriptor.open(cache.file()));
            lock(cache, 2, living.me());
            int stored = 0;
            int busy = 0;
            for (int i = 0; i < 40; i++) {
                PutResult.Outcome outcome =
                        cache.put(Cargo.key(i), new byte[10]).outcome();
                stored += outcome == PutResult.Outcome.STORED ? 1 : 0;
                busy += outcome == PutResult.Outcome.BUSY ? 1 : 0;
            }
            assertThat(stored).isGreaterThan(20);
            assertThat(busy).isPositive().isEqualTo(40 - stored);
            assertThat(SlabInspector.of(cache.file()).lockHolders())
                    .containsExactly(new SlabInspector.LockHolder(
                            2, ProcessHandle.current().pid(), true));
            assertThatThrownBy(cache::clearUnnamed)
                    .satisfies(
                            e -> assertThat(((HoldfastException) e).category()).isEqualTo(Category.RETRY));
            lock(cache, 2, 0);
            cache.clearUnnamed();
            assertThat(living.me()).isNotZero();
        }
    }

    @Test
    void numberIsThatOfTheFile() {
        open().close();
        try (SlabCache cache = SlabCache.builder(directory.resolve("cache"))
                .size(8 << 20)
                .shards(1)
                .open()) {
            assertThat(cache.stats().shards()).isEqualTo(SHARDS);
        }
    }

    @Test
    void numberIsAPowerOfTwoAndOneForSeed() {
        assertThatThrownBy(() ->
                        SlabCache.builder(directory.resolve("x")).shards(3).open())
                .hasMessageContaining("slab.shards = 3");
        assertThatThrownBy(() -> SlabCache.builder(directory.resolve("x"))
                        .preset(Preset.SEED)
                        .shards(2)
                        .open())
                .hasMessageContaining("allowed: 1");
    }

    @Test
    void valueThatIsLargerThanAShardIsRefusedInWords() {
        try (SlabCache cache = open()) {
            assertThatThrownBy(() -> cache.put("k".getBytes(StandardCharsets.UTF_8), new byte[3 << 20]))
                    .hasMessageContaining("a shard of this cache holds");
        }
    }

    @Test
    void secondOpenerOfAKilledCacheSalvagesOnlyTheShardThatIsDamaged() throws IOException {
        Path file;
        long size;
        try (SlabCache cache = filled(open())) {
            file = cache.file();
            size = cache.stats().fileBytes() / SHARDS;
        }
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.allocate(8).putLong(-1).flip(), size + SlabLayout.C_FREE);
        }
        try (SlabCache cache = SlabCache.attach(file)) {
            assertThat(cache.stats().salvages()).isEqualTo(1);
            for (int i = 0; i < KEYS; i++) {
                byte[] value = cache.get(Cargo.key(i));
                assertThat(value != null && Cargo.isOf(i, value)).isTrue();
            }
        }
    }
}
