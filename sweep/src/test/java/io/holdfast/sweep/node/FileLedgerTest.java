package io.holdfast.sweep.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HolderId;
import io.holdfast.Ledger;
import io.holdfast.LedgerContract;
import io.holdfast.ReclaimReason;
import io.holdfast.Reclaimed;
import io.holdfast.ThingId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileLedgerTest extends LedgerContract {

    @TempDir
    private Path folder;

    @Override
    protected Ledger ledger(int capacity) {
        try {
            return new FileLedger(folder.resolve("ledger"), capacity);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void recordThatWasCutOffByACrashIsTheEndAndNewOnesFollow() throws IOException {
        Path file = folder.resolve("ledger/current");
        try (FileLedger ledger = new FileLedger(folder.resolve("ledger"), 100)) {
            ledger.append(record("a"));
            ledger.append(record("b"));
        }
        byte[] bytes = Files.readAllBytes(file);
        for (int cut = bytes.length / 2 + 1; cut < bytes.length; cut++) {
            Files.write(file, Arrays.copyOf(bytes, cut));
            try (FileLedger ledger = new FileLedger(folder.resolve("ledger"), 100)) {
                ledger.append(record("c"));
                assertThat(ledger.since(Instant.EPOCH, 10))
                        .extracting(record -> record.ids().getFirst())
                        .containsExactly("a", "c");
            }
        }
    }

    private static Reclaimed record(String id) {
        return new Reclaimed(
                ThingId.Kind.PIECE,
                "n1",
                List.of(id),
                ReclaimReason.SWEPT,
                "cycle 1",
                Instant.EPOCH,
                new HolderId("n1", 1));
    }
}
