package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.Time;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The lock goes to those who wait: a call is BUSY because of a holder that does not end, not because of others. */
class FairLockTest {

    private static final long LIVING = 9L << Life.PID_SHIFT;
    private static final long PATIENCE = Duration.ofMinutes(1).toNanos();
    private static final long OTHERS_MOST = 200_000;

    @TempDir
    Path directory;

    @Test
    void freeLockIsLeftToAWaiterThatIsHungry() throws Exception {
        HeapRegion region = HeapRegion.adaptive(8);
        RegionLock lock = new RegionLock(region.memory, region.host, Time.system());
        region.memory.word(SlabLayout.C_LOCK, LIVING);
        boolean[] took = new boolean[1];
        Thread waiter = Thread.ofPlatform().start(() -> {
            Hold hold = lock.take(Duration.ofMinutes(1).toNanos());
            took[0] = hold != null;
        });
        await().until(() -> region.memory.opaque(SlabLayout.C_HUNGRY) != 0);
        // Free, as far as one who has just come can see, and still the waiter's.
        Memory free = new HeapMemory(region.layout);
        free.opaque(SlabLayout.C_HUNGRY, LIVING);
        assertThat(new RegionLock(free, region.host, Time.system()).take(0)).isNull();
        region.memory.release(SlabLayout.C_LOCK, 0);
        waiter.join();
        assertThat(took[0]).isTrue();
        assertThat(region.memory.opaque(SlabLayout.C_HUNGRY)).isZero();
    }

    /** A hold that was taken over by a nested call of its thread must not free what another process has taken since. */
    @Test
    void holdThatWasTakenOverFreesNothing() {
        HeapRegion region = HeapRegion.adaptive(8);
        RegionLock lock = new RegionLock(region.memory, region.host, Time.system());
        Hold outer = Objects.requireNonNull(lock.take(0));
        Hold nested = Objects.requireNonNull(lock.take(Duration.ofSeconds(10).toNanos()));
        nested.tidied();
        nested.close();
        region.memory.word(SlabLayout.C_LOCK, LIVING);
        outer.close();
        assertThat(region.memory.word(SlabLayout.C_LOCK))
                .as("held by another process")
                .isEqualTo(LIVING);
    }

    @Test
    void processThatDiedHungryKeepsNoOtherFromTheLock() {
        HeapRegion region = HeapRegion.adaptive(8);
        SlabStore store = region.open();
        region.memory.opaque(SlabLayout.C_HUNGRY, LIVING);
        region.host.kill(9);
        assertThat(store.put(0, Cargo.key(1), new byte[10], 0, true, SlabStore.ANY)
                        .stored())
                .isTrue();
        assertThat(region.memory.opaque(SlabLayout.C_HUNGRY)).isZero();
    }

    @Test
    void wordThatNamesNoProcessIsTakenLikeThatOfTheDead() throws Exception {
        Path file = directory.resolve("cache");
        try (SlabCache cache = SlabCache.builder(file).dataPages(8).open()) {
            ByteBuffer word = ByteBuffer.allocate(Long.BYTES).putLong(Long.MIN_VALUE + 5);
            try (FileChannel channel = FileChannel.open(cache.file(), StandardOpenOption.WRITE)) {
                channel.write(word.order(ByteOrder.nativeOrder()).flip(), SlabLayout.C_LOCK);
            }
            assertThat(cache.put(Cargo.key(1), new byte[10]).stored()).isTrue();
        }
    }

    /** The clock of the lock counts holds: a caller is late when so many others were served, however slow the machine. */
    @Test
    void sixtyFourThreadsOfPutsAreNeverBusy() throws Exception {
        SlabLayout layout = SlabLayout.ofPages(64, Preset.ADAPTIVE, Policy.SLRU, 16, 512);
        HeapRegion region = new HeapRegion(layout, Time.system());
        Time holds = new Time() {
            @Override
            public long nanoTime() {
                return region.memory.opaque(SlabLayout.C_HOLDS) * (PATIENCE / OTHERS_MOST);
            }

            @Override
            public Instant instant() {
                return Instant.EPOCH;
            }
        };
        SlabStore store =
                new SlabStore(region.memory, layout, HeapRegion.SEED, region.host, holds, Probe.NONE, PATIENCE);
        store.attach();
        AtomicInteger busy = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            int number = i * 1_000;
            threads.add(Thread.ofPlatform().start(() -> {
                for (int n = 0; region.memory.opaque(SlabLayout.C_HOLDS) < 5 * OTHERS_MOST; n++) {
                    PutResult result =
                            store.put(0, Cargo.key(number + n % 1_000), new byte[1_000], 0, true, SlabStore.ANY);
                    busy.addAndGet(result.outcome() == PutResult.Outcome.BUSY ? 1 : 0);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(busy.get()).isZero();
    }

    /** Wherever in the queue the stack of a thread ends, the place in the queue is not lost with it. */
    @Test
    void stackThatEndsWhileWaitingKeepsNoOtherFromTheLock() throws Exception {
        HeapRegion region = HeapRegion.adaptive(8);
        SlabStore store = region.open();
        for (int i = 0; i < 150; i++) {
            int frame = i;
            region.memory.word(SlabLayout.C_LOCK, LIVING);
            Thread diver = new Thread(null, () -> dive(store, frame), "diver", 256 << 10);
            diver.start();
            diver.join();
            // Not free for one who has just come: the way leads through the queue.
            region.memory.opaque(SlabLayout.C_HUNGRY, LIVING);
            region.memory.release(SlabLayout.C_LOCK, 0);
            assertThat(store.put(0, Cargo.key(1), new byte[10], 0, true, SlabStore.ANY)
                            .outcome())
                    .as("after a stack that ended %d frames further down", frame)
                    .isEqualTo(PutResult.Outcome.STORED);
        }
    }

    /** Goes down to the end of the stack, and waits for the lock a moment at one frame on the way up. */
    @SuppressWarnings("InfiniteRecursion") // it ends with the stack
    private static int dive(SlabStore store, int frame) {
        int below;
        try {
            below = dive(store, frame) + 1;
        } catch (StackOverflowError e) {
            below = 0;
        }
        if (below == frame) {
            try {
                store.remove(1, 0, Cargo.key(1), SlabStore.ANY, 1_000);
            } catch (StackOverflowError | HoldfastException e) {
                // As it was to be, or BUSY.
            }
        }
        return below;
    }
}
