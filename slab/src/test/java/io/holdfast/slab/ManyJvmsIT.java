package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException;
import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.KillPoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Several JVMs on one file: mixed operations, creation at the same time, a stopped one, one loader per host. */
class ManyJvmsIT {

    @TempDir
    Path directory;

    /** Four JVMs that also create the file at the same time; {@code -Dminutes=1} for a minute of it. */
    @Test
    void everyValueReadByAnyOfThemIsWholeAndWasPutUnderItsKey() throws IOException {
        Path file = directory.resolve("shared");
        String minutes = System.getProperty("minutes", "");
        long seconds = minutes.isEmpty() ? 6 : TimeUnit.MINUTES.toSeconds(Long.parseLong(minutes));
        List<ChildJvm> jvms = new ArrayList<>();
        try {
            for (int i = 0; i < 4; i++) {
                jvms.add(ChildJvm.of(Worker.class).arguments(file, i, seconds).launch());
            }
            long hits = 0;
            for (ChildJvm jvm : jvms) {
                String line = jvm.awaitLine(said -> said.startsWith("HITS") || said.startsWith("WRONG"));
                assertThat(line).startsWith("HITS");
                hits += Long.parseLong(line.substring(5));
                assertThat(jvm.awaitExit()).as(jvm.errors()).isZero();
            }
            assertThat(hits).isGreaterThan(1_000);
        } finally {
            jvms.forEach(ChildJvm::close);
        }
        try (SlabCache cache = SlabCache.attach(file)) {
            assertThat(cache.audit().problems()).isEmpty();
            assertThat(cache.stats().salvages()).isZero();
        }
        try (var files = Files.list(directory)) {
            assertThat(files.map(path -> path.getFileName().toString())).containsExactly("shared.slab3");
        }
    }

    /** In a child: file, number, seconds. */
    static final class Worker {
        public static void main(String[] arguments) {
            try (SlabCache cache =
                    MixedWork.builder(Path.of(arguments[0]), Preset.ADAPTIVE).open()) {
                MixedWork work = new MixedWork(cache, new java.util.Random(Long.parseLong(arguments[1])), 90_000);
                long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.parseLong(arguments[2]));
                for (long round = 1; System.nanoTime() < end; round++) {
                    if (round % 1_000 == 0) {
                        ChildJvm.say("round " + round); // whoever says nothing for a minute is taken for hung
                    }
                    for (int i = 0; i < 100; i++) {
                        if (!work.step()) {
                            ChildJvm.say("WRONG");
                            System.exit(1);
                        }
                    }
                }
                ChildJvm.say("HITS " + work.hits());
            }
            System.exit(0);
        }
    }

    @Test
    void stoppedHolderOfTheLockBlocksPutsAndNeverGets() {
        Path file = directory.resolve("stopped");
        try (SlabCache cache = MixedWork.builder(file, Preset.ADAPTIVE)
                .shards(1) // a stopped holder blocks its own shard
                .busyAfter(Duration.ofMillis(50))
                .open()) {
            byte[] mine = Cargo.value(1, 77, 500);
            cache.put(Cargo.key(1), mine);
            try (ChildJvm jvm = ChildJvm.of(StoppingPut.class)
                    .arguments(file)
                    .killAt(KillPoint.stallAt("VALUE_WRITTEN", 1))
                    .launch()) {
                jvm.awaitStalled();
                assertThat(cache.get(Cargo.key(1))).isEqualTo(mine);
                assertThat(cache.put(Cargo.key(2), mine).outcome()).isEqualTo(PutResult.Outcome.BUSY);
                OpenCaches.assertRefused(HoldfastException.Category.RETRY, "BUSY", () -> cache.remove(Cargo.key(1)));
                for (int i = 0; i < 1_000; i++) {
                    assertThat(cache.get(Cargo.key(1))).isEqualTo(mine);
                }
                assertThat(cache.stats().thefts()).isZero();
                jvm.resume();
                jvm.awaitLine("DONE"::equals);
                assertThat(cache.put(Cargo.key(2), mine).stored()).isTrue();
                assertThat(cache.get(Cargo.key(3))).isEqualTo(Cargo.value(3, 5, 700));
                assertThat(cache.audit().problems()).isEmpty();
            }
        }
    }

    /** In a child: puts key 3, and is stopped on the way. */
    static final class StoppingPut {
        public static void main(String[] arguments) {
            var point = KillPoint.ofThisJvm();
            SlabCache cache = MixedWork.builder(Path.of(arguments[0]), Preset.ADAPTIVE)
                    .shards(1)
                    .busyAfter(Duration.ofMillis(50))
                    .probe(reached -> point.accept(reached.name()))
                    .open();
            cache.put(Cargo.key(3), Cargo.value(3, 5, 700));
            ChildJvm.say("DONE");
        }
    }

    @Test
    void oneProcessLoadsForTheHost() {
        Path file = directory.resolve("loads");
        try (SlabCache cache = MixedWork.builder(file, Preset.ADAPTIVE).open()) {
            List<ChildJvm> jvms = new ArrayList<>();
            try {
                for (int i = 0; i < 3; i++) {
                    jvms.add(ChildJvm.of(SlowLoad.class).arguments(file).start());
                }
                jvms.forEach(jvm -> jvm.send("go"));
                long loads = 0;
                for (ChildJvm jvm : jvms) {
                    loads += Long.parseLong(
                            jvm.awaitLine(line -> line.startsWith("LOADS")).substring(6));
                }
                assertThat(loads).isEqualTo(1);
                assertThat(cache.get(Cargo.key(9))).isEqualTo(Cargo.value(9, 1, 100));
            } finally {
                jvms.forEach(ChildJvm::close);
            }
        }
    }

    /** In a child: loads key 9, taking its time. */
    static final class SlowLoad {
        public static void main(String[] arguments) throws Exception {
            long[] loads = new long[1];
            try (SlabCache cache =
                    MixedWork.builder(Path.of(arguments[0]), Preset.ADAPTIVE).open()) {
                ChildJvm.sayReady();
                System.in.read();
                byte[] value = cache.getOrLoad(
                        Cargo.key(9),
                        key -> {
                            loads[0]++;
                            java.util.concurrent.locks.LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(500));
                            return Cargo.value(9, 1, 100);
                        },
                        Duration.ofSeconds(30));
                if (value == null || !Cargo.isOf(9, value)) {
                    throw new IllegalStateException("wrong value");
                }
                ChildJvm.say("LOADS " + loads[0]);
            }
        }
    }

    @Test
    void deadLoaderIsReplaced() {
        Path file = directory.resolve("deadloader");
        try (SlabCache cache = MixedWork.builder(file, Preset.ADAPTIVE).open()) {
            try (ChildJvm jvm = ChildJvm.of(EndlessLoad.class).arguments(file).launch()) {
                jvm.awaitLine("LOADING"::equals);
                jvm.kill();
            }
            byte[] value = cache.getOrLoad(Cargo.key(9), key -> Cargo.value(9, 2, 64), Duration.ofSeconds(20));
            assertThat(value).isEqualTo(Cargo.value(9, 2, 64));
        }
    }

    /** In a child: begins to load and never ends. */
    static final class EndlessLoad {
        public static void main(String[] arguments) {
            try (SlabCache cache =
                    MixedWork.builder(Path.of(arguments[0]), Preset.ADAPTIVE).open()) {
                cache.getOrLoad(
                        Cargo.key(9),
                        key -> {
                            ChildJvm.say("LOADING");
                            while (true) {
                                java.util.concurrent.locks.LockSupport.park();
                            }
                        },
                        Duration.ofSeconds(1));
            } catch (HoldfastException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
