package io.holdfast.sweep.cycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.SigningKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class VouchTest {

    private static final OwnerId PHOTOS = new OwnerId("photos");
    private static final Instant NOW = Instant.parse("2026-05-01T00:00:00Z");
    private static final Duration SKEW = Duration.ofMinutes(10);
    private static final SigningKey OPERATOR = SigningKey.generate("ann");
    private static final SigningKey MANAGER = SigningKey.generate("manager-1");
    private static final KeyRing RING = KeyRing.of(List.of(
            KeyRing.entry(OPERATOR, KeyRing.Role.OPERATOR, Instant.EPOCH, NOW.plus(Duration.ofDays(100))),
            KeyRing.entry(MANAGER, KeyRing.Role.MANAGER, Instant.EPOCH, NOW.plus(Duration.ofDays(100)))));

    @TempDir
    private Path folder;

    private Vouch read(SigningKey by, Instant at, OwnerId owner) throws IOException {
        Path file = folder.resolve("vouch");
        Vouch.write(file, PHOTOS, by, NOW);
        return Vouch.read(file, owner, RING, at, SKEW);
    }

    @Test
    void operatorVouchesForADay() throws IOException {
        assertThat(read(OPERATOR, NOW.plus(Duration.ofHours(23)), PHOTOS).upTo())
                .isEqualTo(NOW);
        assertThatThrownBy(() -> read(OPERATOR, NOW.plus(Duration.ofHours(25)), PHOTOS))
                .hasMessageContaining("it is good from");
        assertThatThrownBy(() -> read(OPERATOR, NOW.minus(Duration.ofHours(1)), PHOTOS))
                .hasMessageContaining("it is good from");
    }

    @Test
    void managerVouchesForNothingAndNoOwnerForAnother() {
        assertThatThrownBy(() -> read(MANAGER, NOW, PHOTOS)).isInstanceOf(HoldfastException.class);
        assertThatThrownBy(() -> read(OPERATOR, NOW, new OwnerId("videos"))).hasMessageContaining("of photos");
    }

    @Test
    void fileThatWasChangedIsRefused() throws IOException {
        Path file = folder.resolve("changed");
        Vouch.write(file, PHOTOS, OPERATOR, NOW);
        List<String> lines = Files.readAllLines(file);
        for (List<String> wrong : List.of(
                lines.subList(0, 2),
                List.of(lines.get(0), lines.get(1), lines.get(1)),
                List.of(lines.get(0), "?", lines.get(2)))) {
            Files.write(file, wrong);
            assertThatThrownBy(() -> Vouch.read(file, PHOTOS, RING, NOW, SKEW)).isInstanceOf(HoldfastException.class);
        }
    }
}
