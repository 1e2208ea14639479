package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException;
import io.holdfast.testkit.ChildJvm;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Caches are closed while threads are in the middle of every kind of call, and the collector runs, which is what unmaps
 * the memory. A single access to memory that is gone would end the JVM by a signal, so it happens in a child.
 */
class ClosedUnderWayIT {

    private static final int LIVES = 150;
    private static final int THREADS = 4;

    @TempDir
    Path directory;

    @Test
    void closingNeverTakesTheMemoryFromACallUnderWay() {
        try (ChildJvm jvm = ChildJvm.of(Child.class)
                .options("-Xmx64m", "-XX:TieredStopAtLevel=4")
                .arguments(directory.resolve("cache"), LIVES)
                .launch()) {
            assertThat(jvm.awaitExit()).as(jvm.errors()).isZero();
        }
    }

    /** In a child: the path of the cache, how often it is opened and closed. */
    static final class Child {

        private final AtomicLong calls = new AtomicLong();
        private final Queue<Throwable> wrong = new ConcurrentLinkedQueue<>();

        public static void main(String[] arguments) throws Exception {
            Child child = new Child();
            for (int life = 0; life < Integer.parseInt(arguments[1]); life++) {
                child.live(Path.of(arguments[0]));
            }
            boolean well = child.wrong.isEmpty() && child.calls.get() > 1_000;
            if (!well) {
                System.err.println(child.calls + " calls; wrong: " + child.wrong);
            }
            System.exit(well ? 0 : 1);
        }

        private void live(Path path) throws Exception {
            SlabCache cache = SlabCache.builder(path).dataPages(12).open();
            CountDownLatch began = new CountDownLatch(THREADS);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                int number = i;
                // Whoever is inside a call must be kept safe by nothing but being inside.
                WeakReference<SlabCache> weak = new WeakReference<>(cache);
                threads.add(Thread.ofPlatform().start(() -> callUntilClosed(weak, number, began)));
            }
            began.await();
            cache.close();
            System.gc();
            for (Thread thread : threads) {
                thread.join();
            }
        }

        private void callUntilClosed(WeakReference<SlabCache> weak, int number, CountDownLatch began) {
            try {
                SlabCache cache;
                for (int i = 0; (cache = weak.get()) != null; i++) {
                    call(cache, number, i % 40);
                    calls.incrementAndGet();
                    if (i == 20) {
                        began.countDown();
                    }
                }
            } catch (HoldfastException e) {
                if (!String.valueOf(e.getMessage()).contains("closed")) {
                    wrong.add(e);
                }
            } catch (Throwable t) {
                wrong.add(t);
            } finally {
                began.countDown();
            }
        }

        private static void call(SlabCache cache, int number, int key) {
            switch (number) {
                case 0 -> cache.put(Cargo.key(key), Cargo.value(key, key, 20_000));
                case 1 -> check(key, cache.get(Cargo.key(key)));
                case 2 ->
                    cache.read(Cargo.key(key), segment -> {
                        check(key, segment.toArray(java.lang.foreign.ValueLayout.JAVA_BYTE));
                        return 1;
                    });
                default -> {
                    switch (key % 5) {
                        case 0 -> cache.stats();
                        case 1 -> cache.forEach(true, entry -> {});
                        case 2 -> cache.audit();
                        case 3 -> cache.remove(Cargo.key(key));
                        default -> cache.pages();
                    }
                }
            }
        }

        private static void check(int key, byte @Nullable [] value) {
            if (value != null && !Cargo.isOf(key, value)) {
                throw new IllegalStateException("wrong value of key " + key);
            }
        }
    }
}
