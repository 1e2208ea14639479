package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.KillPoint;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The one who brings a region back into order is killed on the way, at each named point; the next one finishes. */
class KilledRepairIT {

    private static final int VALUES = 400;

    @TempDir
    Path directory;

    @Test
    void deathDuringRepairIsRepairedByTheNext() throws IOException {
        Path left = SlabFile.named(directory.resolve("left"));
        try (ChildJvm jvm = ChildJvm.of(MixedWork.class)
                .arguments(left, Preset.ADAPTIVE, 5, 4_000)
                .killAt(KillPoint.at(Probe.Point.JOURNAL_HALF_APPLIED.name(), 700))
                .launch()) {
            assertThat(jvm.awaitExit()).isEqualTo(128 + 9);
        }
        for (Probe.Point point :
                List.of(Probe.Point.REPAIR_UNDONE, Probe.Point.REPAIR_RELEASED, Probe.Point.REPAIR_SEQUENCES)) {
            Path file = copy(left, point);
            assertDiesWhileOpening(file, point);
            try (SlabCache cache = SlabCache.attach(file)) {
                assertThat(cache.stats().repairs()).as("repairs after " + point).isPositive();
                assertThat(cache.stats().salvages()).isZero();
                assertInOrder(cache, 1);
            }
        }
    }

    @Test
    void deathDuringSalvageIsSalvagedByTheNext() throws IOException {
        Path whole = SlabFile.named(directory.resolve("whole"));
        try (SlabCache cache = MixedWork.builder(whole, Preset.ADAPTIVE).open()) {
            for (int i = 0; i < VALUES; i++) {
                cache.put(Cargo.key(i), Cargo.value(i, i, 600));
            }
        }
        for (Probe.Point point : List.of(Probe.Point.SALVAGE_COLLECTED, Probe.Point.SALVAGE_FORMATTED)) {
            Path file = copy(whole, point);
            miscountFreePages(file);
            assertDiesWhileOpening(file, point);
            try (SlabCache cache = SlabCache.attach(file)) {
                assertThat(cache.stats().salvages())
                        .as("salvages after " + point)
                        .isPositive();
                assertThat(cache.stats().items()).isEqualTo(VALUES);
                assertInOrder(cache, VALUES);
            }
        }
    }

    private Path copy(Path file, Probe.Point point) throws IOException {
        return Files.copy(file, SlabFile.named(directory.resolve(point.name())), StandardCopyOption.COPY_ATTRIBUTES);
    }

    private static void miscountFreePages(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer word = ByteBuffer.allocate(8);
            channel.read(word, SlabLayout.C_FREE);
            word.put(4, (byte) (word.get(4) + 1)).rewind();
            channel.write(word, SlabLayout.C_FREE);
        }
    }

    private static void assertDiesWhileOpening(Path file, Probe.Point point) {
        try (ChildJvm jvm = ChildJvm.of(MixedWork.class)
                .arguments(file, Preset.ADAPTIVE, 6, 0)
                .killAt(KillPoint.at(point.name(), 1))
                .launch()) {
            assertThat(jvm.awaitExit()).as("killed at " + point).isEqualTo(128 + 9);
        }
    }

    private static void assertInOrder(SlabCache cache, int wholeLeast) {
        assertThat(cache.audit().problems()).isEmpty();
        int whole = 0;
        for (int i = 0; i < MixedWork.KEYS; i++) {
            byte[] value = cache.get(Cargo.key(i));
            if (value != null) {
                assertThat(Cargo.isOf(i, value)).as("value of key " + i).isTrue();
                whole++;
            }
        }
        assertThat(whole).isGreaterThanOrEqualTo(wholeLeast);
        assertThat(cache.put(Cargo.key(1), Cargo.value(1, 1, 300)).stored()).isTrue();
    }
}
