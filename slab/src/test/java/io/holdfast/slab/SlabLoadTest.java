package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException.Category;
import java.io.IOException;
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
                    cache.clearUnnamed();
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

    @Test
    void waitWithoutEndIsAllowed() {
        SlabCache cache = open();
        assertThat(cache.getOrLoad(bytes("k"), key -> bytes("v"), Duration.ofSeconds(Long.MAX_VALUE)))
                .isEqualTo(bytes("v"));
    }

    @Test
    void loaderThrowsWhatItLikes() throws IOException {
        SlabCache cache = open();
        assertThatThrownBy(() -> cache.getOrLoad(
                        bytes("k"),
                        key -> {
                            throw new IOException("disk gone");
                        },
                        Duration.ofSeconds(1)))
                .isInstanceOf(IOException.class);
        assertThat(cache.<IOException>getOrLoad(bytes("k"), key -> bytes("v"), Duration.ofSeconds(1)))
                .isEqualTo(bytes("v"));
    }

    @Test
    void loadedValueLapses() {
        SlabCache cache = open();
        cache.getOrLoad(bytes("k"), key -> bytes("v"), Duration.ofSeconds(1), Duration.ofSeconds(10));
        time.advance(Duration.ofSeconds(9));
        assertThat(cache.get(bytes("k"))).isNotNull();
        time.advance(Duration.ofSeconds(1));
        assertThat(cache.get(bytes("k"))).isNull();
    }

    private static final long LIVING = 9L << Life.PID_SHIFT;

    private static LoadLease lease(SlabStore.LoadStart start) {
        return java.util.Objects.requireNonNull(start.lease());
    }

    @Test
    void loadThatEndsWhileTheLockIsBusyLeavesTheKeyLoadable() {
        HeapRegion region = HeapRegion.adaptive(8);
        SlabStore store = region.open();
        LoadLease lease = lease(store.beginLoad(0, bytes("k")));
        region.memory.word(SlabLayout.C_LOCK, LIVING);
        lease.close();
        region.memory.word(SlabLayout.C_LOCK, 0);
        assertThat(store.beginLoad(0, bytes("k")).lease()).isNotNull();
    }

    @Test
    void missUnderABusyLockIsLoadedAndNotStored() {
        HeapRegion region = HeapRegion.adaptive(8);
        SlabStore store = region.open();
        region.memory.word(SlabLayout.C_LOCK, LIVING);
        SlabStore.LoadStart start = store.beginLoad(0, bytes("k"));
        assertThat(start.elsewhere()).isFalse();
        assertThat(start.lease()).isNull();
    }

    @Test
    void loadsOfTheDeadMakeRoomForOthers() {
        HeapRegion region = HeapRegion.adaptive(8);
        region.host.become(2);
        SlabStore two = region.open();
        for (int i = 0; i < SlabLayout.LOADS; i++) {
            assertThat(two.beginLoad(0, Cargo.key(i)).lease()).isNotNull();
        }
        region.host.become(3);
        SlabStore three = region.open();
        assertThat(three.beginLoad(0, bytes("k"))).isEqualTo(new SlabStore.LoadStart(null, false));
        region.host.kill(2);
        assertThat(three.beginLoad(0, bytes("k")).lease()).isNotNull();
        for (int i = 0; i < SlabLayout.LOADS; i += 17) {
            assertThat(three.beginLoad(0, Cargo.key(i)).lease()).as("key " + i).isNotNull();
        }
    }

    @Test
    void signsOfLifeOfLoadersAreNotAskedForUnderTheLock() {
        SlabLayout layout = SlabLayout.ofPages(8, Preset.ADAPTIVE, Policy.SLRU, 16, 512);
        Memory memory = new HeapMemory(layout);
        SlabStore.format(memory, layout, 1);
        int[] underTheLock = new int[1];
        Life life = new Life() {
            @Override
            public long me() {
                return LIVING;
            }

            @Override
            public boolean isAlive(long process) {
                underTheLock[0] += memory.word(SlabLayout.C_LOCK) == 0 ? 0 : 1;
                return true;
            }
        };
        SlabStore store = new SlabStore(memory, layout, HeapRegion.SEED, life, time, Probe.NONE, 20_000_000);
        store.attach();
        underTheLock[0] = 0;
        assertThat(store.beginLoad(0, bytes("k")).lease()).isNotNull();
        assertThat(store.beginLoad(0, bytes("k")).elsewhere()).isTrue();
        assertThat(underTheLock[0]).isZero();
    }

    @Test
    void loadIsVoidedAlsoAfterOthersEndedWithoutTheLock() {
        HeapRegion region = HeapRegion.adaptive(8);
        SlabStore store = region.open();
        LoadLease ended = lease(store.beginLoad(0, bytes("a")));
        LoadLease pending = lease(store.beginLoad(0, bytes("b")));
        ended.close();
        store.put(0, bytes("c"), bytes("1"), 0, true, SlabStore.ANY);
        store.put(0, bytes("b"), bytes("fresh"), 0, true, SlabStore.ANY);
        PutResult late = store.put(
                store.mutations.items.hash(0, bytes("b")),
                new Puts.Request(0, bytes("b"), bytes("stale"), 0, true, SlabStore.ANY, pending),
                20_000_000);
        assertThat(late.outcome()).isEqualTo(PutResult.Outcome.CONFLICT);
        assertThat(ModelSimulation.get(store, bytes("b"))).isEqualTo(bytes("fresh"));
    }
}
