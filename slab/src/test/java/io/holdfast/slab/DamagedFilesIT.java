package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException;
import io.holdfast.testkit.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** 5,000 damaged files, {@code -Dseeds=} for more, opened in child JVMs that must survive all of them. */
class DamagedFilesIT {

    private static final int CHILDREN = 2;

    @TempDir
    Path directory;

    @Test
    void damagedFilesAreRefusedOrRepairedAndNeverServeAWrongValue() {
        String given = System.getProperty("seeds", "");
        int files = given.isEmpty() ? 5_000 : Integer.parseInt(given);
        List<ChildJvm> jvms = new ArrayList<>();
        try {
            for (int i = 0; i < CHILDREN; i++) {
                jvms.add(ChildJvm.of(Opener.class)
                        .arguments(directory, i * (files / CHILDREN), files / CHILDREN)
                        .launch());
            }
            long refused = 0;
            long opened = 0;
            for (ChildJvm jvm : jvms) {
                String[] words = jvm.awaitLine(line -> line.startsWith("REFUSED") || line.startsWith("FAILED"))
                        .split(" ");
                assertThat(words[0]).as(String.join(" ", words)).isEqualTo("REFUSED");
                refused += Long.parseLong(words[1]);
                opened += Long.parseLong(words[3]);
                assertThat(jvm.awaitExit()).as(jvm.errors()).isZero();
            }
            assertThat(refused).isPositive();
            assertThat(opened).isPositive();
            assertThat(refused + opened).isEqualTo((long) files / CHILDREN * CHILDREN);
        } finally {
            jvms.forEach(ChildJvm::close);
        }
    }

    /** In a child: folder, first seed, how many. */
    static final class Opener {

        public static void main(String[] arguments) throws IOException {
            java.util.logging.LogManager.getLogManager().reset();
            Path folder = Path.of(arguments[0]);
            long first = Long.parseLong(arguments[1]);
            long count = Long.parseLong(arguments[2]);
            int refused = 0;
            int opened = 0;
            for (long seed = first; seed < first + count; seed++) {
                if (seed % 500 == 0) {
                    ChildJvm.say("at " + seed);
                }
                Random random = new Random(seed);
                Path file = folder.resolve("f" + seed + SlabLayout.SUFFIX);
                damage(original(folder, first, random), file, random);
                try {
                    if (open(file)) {
                        opened++;
                    } else {
                        refused++;
                    }
                } catch (Throwable t) {
                    t.printStackTrace();
                    ChildJvm.say("FAILED seed " + seed + ": " + t);
                    System.exit(1);
                }
                Files.delete(file);
            }
            ChildJvm.say("REFUSED " + refused + " OPENED " + opened);
            System.exit(0);
        }

        private static byte[] original(Path folder, long first, Random random) throws IOException {
            Preset preset = random.nextInt(4) == 0 ? Preset.ADAPTIVE : Preset.SEED;
            Path file = folder.resolve(preset + "-" + first + SlabLayout.SUFFIX);
            if (!Files.exists(file)) {
                try (SlabCache cache = SlabCache.builder(file)
                        .preset(preset)
                        .dataPages(preset == Preset.SEED ? 24 : 4)
                        .shards(preset == Preset.SEED ? 1 : 2)
                        .open()) {
                    for (int i = 0; i < 200; i++) {
                        cache.put(Cargo.key(i), Cargo.value(i, random, i % 40 == 0 ? 6_000 : 700));
                        cache.get(Cargo.key(i / 2));
                    }
                    cache.remove(Cargo.key(199));
                }
            }
            return Files.readAllBytes(file);
        }

        private static void damage(byte[] bytes, Path file, Random random) throws IOException {
            byte[] damaged = bytes;
            switch (random.nextInt(10)) {
                case 0 -> damaged = java.util.Arrays.copyOf(bytes, random.nextInt(bytes.length));
                case 1 -> {
                    damaged = new byte[random.nextInt(bytes.length)];
                    random.nextBytes(damaged);
                }
                case 2 -> damaged[8] = (byte) random.nextInt();
                case 3 ->
                    java.util.Arrays.fill(
                            damaged,
                            random.nextInt(damaged.length - 5_000),
                            damaged.length - random.nextInt(4_000),
                            (byte) 0);
                case 4 -> damaged[random.nextInt(SlabLayout.HEADER_USED)] ^= (byte) (1 << random.nextInt(8));
                case 5 -> {
                    int length = 1 + random.nextInt(4_096);
                    byte[] noise = new byte[length];
                    random.nextBytes(noise);
                    System.arraycopy(
                            noise, 0, damaged, 4_096 + random.nextInt(damaged.length - 4_096 - length), length);
                }
                default -> {
                    // A bit here and there, more often in the tables.
                    for (int i = 1 + random.nextInt(6); i > 0; i--) {
                        int at = random.nextBoolean()
                                ? 4_096 + random.nextInt(damaged.length - 4_096)
                                : 4_096 + random.nextInt(Math.min(damaged.length - 4_096, 200_000));
                        damaged[at] ^= (byte) (1 << random.nextInt(8));
                    }
                }
            }
            Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            Files.write(file, damaged);
        }

        /** False if it was refused with a clear message. */
        private static boolean open(Path file) {
            try (SlabCache cache =
                    SlabCache.builder(file).busyAfter(Duration.ofMillis(100)).attach()) {
                for (int i = 0; i < 200; i++) {
                    byte[] value = cache.get(Cargo.key(i));
                    if (value != null && !Cargo.isOf(i, value)) {
                        throw new AssertionError("a wrong value for key " + i);
                    }
                }
                if (cache.get(Cargo.key(199)) != null) {
                    throw new AssertionError("a removed value came back");
                }
                AuditReport report = cache.audit();
                if (!report.isClean()) {
                    throw new AssertionError("not clean: " + report.problems());
                }
                if (!cache.put(Cargo.key(1), Cargo.value(1, 1, 300)).stored()) {
                    throw new AssertionError("cannot put");
                }
                return true;
            } catch (HoldfastException e) {
                if (e.getMessage() == null
                        || e.getMessage().isBlank()
                        || e.action().isBlank()) {
                    throw new AssertionError("refused without a reason", e);
                }
                return false;
            }
        }
    }
}
