package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.testkit.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Processes that start on a cache whose processes were killed. {@code -Dmebibytes=4096 -Djvms=8} for a large one, which
 * needs that much shared memory.
 */
class RestartIT {

    private static final int VALUES = 2_000;
    private static final int LOADERS = 4;
    private static final int LOADS_OF_ONE = 64;
    /** What a process returns that ends as if killed, having done what it was to do. */
    private static final int DIED = 9;

    @TempDir
    Path directory;

    private static int given(String name, int otherwise) {
        String text = System.getProperty(name, "");
        return text.isEmpty() ? otherwise : Integer.parseInt(text);
    }

    @Test
    void allOfThemServeAtOnceAfterTheLastOneWasKilled() throws IOException {
        Path folder = Files.createTempDirectory(Path.of("/dev/shm"), "restart");
        Path file = folder.resolve("cache");
        List<ChildJvm> jvms = new ArrayList<>();
        try {
            try (ChildJvm filler = ChildJvm.of(Filler.class)
                    .arguments(file, given("mebibytes", 192))
                    .launch()) {
                filler.awaitLine("FILLED"::equals);
                filler.kill();
                filler.awaitExit();
            }
            for (int i = 0; i < given("jvms", 4); i++) {
                jvms.add(ChildJvm.of(Starter.class).arguments(file).start());
            }
            jvms.forEach(jvm -> jvm.send("go"));
            for (ChildJvm jvm : jvms) {
                String said = jvm.awaitLine(line -> line.startsWith("SERVED"));
                System.out.println("a JVM of " + jvms.size() + " on " + given("mebibytes", 192) + " MiB " + said);
                assertThat(jvm.awaitExit()).as(jvm.errors()).isZero();
            }
        } finally {
            jvms.forEach(ChildJvm::close);
            Files.deleteIfExists(SlabFile.named(file));
            Files.delete(folder);
        }
    }

    /** In a child: file, size. Fills it, and waits for its death. */
    static final class Filler {
        public static void main(String[] arguments) throws Exception {
            SlabCache cache = SlabCache.open(Path.of(arguments[0]), SlabCache.mebibytes(Long.parseLong(arguments[1])));
            for (int i = 1; cache.put(Cargo.key(i + VALUES), new byte[4_000]).evicted() == 0; i++) {
                if (i % 100_000 == 0) {
                    ChildJvm.say("at " + i);
                }
            }
            for (int i = 0; i < VALUES; i++) {
                cache.put(Cargo.key(i), Cargo.value(i, i, 900));
            }
            ChildJvm.say("FILLED");
            new CountDownLatch(1).await();
        }
    }

    /** In a child: file. Opens it when told, reads and writes, and says how long that took. */
    static final class Starter {
        public static void main(String[] arguments) throws Exception {
            ChildJvm.sayReady();
            System.in.read();
            long begun = System.nanoTime();
            try (SlabCache cache = SlabCache.attach(Path.of(arguments[0]))) {
                long opened = System.nanoTime();
                int first = 0;
                while (first < VALUES && cache.get(Cargo.key(first)) == null) {
                    first++;
                }
                long served = System.nanoTime();
                int whole = 0;
                for (int i = 0; i < VALUES; i++) {
                    byte[] value = cache.get(Cargo.key(i));
                    whole += value != null && Cargo.isOf(i, value) ? 1 : 0;
                }
                boolean stored = cache.put(Cargo.key(VALUES / 2), Cargo.value(VALUES / 2, 2, 900))
                        .stored();
                if (whole < VALUES * 9 / 10 || !stored) {
                    throw new IllegalStateException(whole + " whole, stored: " + stored);
                }
                ChildJvm.say("SERVED its first value after " + (served - begun) / 1_000_000 + " ms, of which open took "
                        + (opened - begun) / 1_000_000 + ", and " + VALUES + " values after "
                        + (System.nanoTime() - begun) / 1_000_000);
            }
            System.exit(0);
        }
    }

    @Test
    void killedLoadersLeaveEveryKeyLoadable() {
        Path file = directory.resolve("loads");
        List<ChildJvm> loaders = new ArrayList<>();
        try {
            for (int i = 0; i < LOADERS; i++) {
                loaders.add(ChildJvm.of(ManyLoads.class)
                        .arguments(file, i * LOADS_OF_ONE)
                        .launch());
            }
            loaders.forEach(jvm -> jvm.awaitLine("LOADING"::equals));
            loaders.forEach(ChildJvm::kill);
            loaders.forEach(ChildJvm::awaitExit);
        } finally {
            loaders.forEach(ChildJvm::close);
        }
        try (ChildJvm next = ChildJvm.of(NextLoader.class).arguments(file).start()) {
            assertThat(next.awaitLine(line -> line.startsWith("LOADED"))).isEqualTo("LOADED " + LOADERS * LOADS_OF_ONE);
        }
    }

    /** In a child: file. Loads all keys that the others were loading, and reads them. */
    static final class NextLoader {
        public static void main(String[] arguments) {
            int loaded = 0;
            try (SlabCache cache =
                    MixedWork.builder(Path.of(arguments[0]), Preset.ADAPTIVE).open()) {
                ChildJvm.sayReady();
                for (int i = 0; i < LOADERS * LOADS_OF_ONE; i++) {
                    byte[] value = Cargo.value(i, 3, 64);
                    byte[] got = cache.getOrLoad(Cargo.key(i), key -> value, Duration.ofSeconds(5));
                    byte[] kept = cache.get(Cargo.key(i));
                    loaded += Arrays.equals(got, value) && Arrays.equals(kept, value) ? 1 : 0;
                }
            }
            ChildJvm.say("LOADED " + loaded);
            System.exit(0);
        }
    }

    /** In a child: file, first key. Is in the middle of 64 loads when it dies. */
    static final class ManyLoads {
        public static void main(String[] arguments) throws Exception {
            SlabCache cache =
                    MixedWork.builder(Path.of(arguments[0]), Preset.ADAPTIVE).open();
            CountDownLatch loading = new CountDownLatch(LOADS_OF_ONE);
            for (int i = 0; i < LOADS_OF_ONE; i++) {
                int key = Integer.parseInt(arguments[1]) + i;
                Thread.ofPlatform()
                        .start(() -> cache.getOrLoad(
                                Cargo.key(key),
                                missing -> {
                                    loading.countDown();
                                    while (true) {
                                        java.util.concurrent.locks.LockSupport.park();
                                    }
                                },
                                Duration.ofMinutes(5)));
            }
            loading.await();
            ChildJvm.say("LOADING");
            new CountDownLatch(1).await();
        }
    }

    /** As a container that ends and is started anew: both processes are number 1 of a pid namespace of their own. */
    @Test
    void processInAnotherPidNamespaceTakesTheCacheOver() throws Exception {
        assumeTrue(inPod("true") == 0, "needs the right to make a pid namespace");
        Path file = directory.resolve("pod");
        assertThat(inPod(java(Pod.class, file, "dies"))).isEqualTo(DIED);
        assertThat(inPod(java(Pod.class, file, "takes over"))).isZero();
        try (SlabCache cache = SlabCache.attach(file)) {
            assertThat(cache.get(Cargo.key(1))).isEqualTo(Cargo.value(1, 1, 300));
            assertThat(cache.get(Cargo.key(2))).isEqualTo(Cargo.value(2, 1, 300));
            assertThat(cache.audit().problems()).isEmpty();
        }
    }

    private static String[] java(Class<?> main, Path file, String role) {
        return new String[] {
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            main.getName(),
            file.toString(),
            role
        };
    }

    private static int inPod(String... command) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(List.of("unshare", "--pid", "--fork", "--mount-proc"));
        words.addAll(List.of(command));
        try {
            return new ProcessBuilder(words).inheritIO().start().waitFor();
        } catch (IOException e) {
            return -1; // there is no such program
        }
    }

    /** In a child that is process 1: file, role. */
    static final class Pod {
        public static void main(String[] arguments) {
            boolean first = arguments[1].equals("dies");
            SlabCache cache = MixedWork.builder(Path.of(arguments[0]), Preset.ADAPTIVE)
                    .busyAfter(Duration.ofMillis(500))
                    .open();
            int key = first ? 1 : 2;
            boolean isOne = ProcessHandle.current().pid() == 1;
            boolean alone = cache.stats().processes().stream()
                            .filter(SlabStats.AttachedProcess::alive)
                            .count()
                    == 1;
            boolean kept = first || cache.get(Cargo.key(1)) != null;
            boolean stored = cache.put(Cargo.key(key), Cargo.value(key, 1, 300)).stored();
            Runtime.getRuntime().halt(isOne && alone && kept && stored ? first ? DIED : 0 : 1);
        }
    }
}
