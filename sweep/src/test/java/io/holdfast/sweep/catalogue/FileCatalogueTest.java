package io.holdfast.sweep.catalogue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.testkit.Seeds;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileCatalogueTest {

    private static final FileCatalogue.Head HEAD =
            new FileCatalogue.Head(new OwnerId("photos"), Instant.parse("2026-05-01T00:00:00Z"), "db/7");

    @TempDir
    private Path folder;

    @Nested
    class Csv extends CatalogueContract {
        @Override
        protected Catalogue catalogue(List<Row> rows) throws IOException {
            return FileCatalogue.of(csv(folder.resolve("c.csv"), rows));
        }
    }

    @Nested
    class LargeCsv extends CatalogueContract {
        /** Large enough for several ranges. */
        @Override
        protected Catalogue catalogue(List<Row> rows) throws IOException {
            return FileCatalogue.csv(csv(folder.resolve("c.csv"), rows));
        }

        @Test
        void linesThatCrossARangeBorderAreReadOnce() throws Exception {
            List<Row> rows = rows(60_000);
            try (Catalogue.Snapshot snapshot = catalogue(rows).open()) {
                assertThat(snapshot.ranges()).isGreaterThan(1);
                assertThat(scan(snapshot)).containsExactlyInAnyOrderElementsOf(rows);
            }
        }
    }

    @Nested
    class Binary extends CatalogueContract {
        @Override
        protected Catalogue catalogue(List<Row> rows) throws IOException {
            return FileCatalogue.of(binary(folder.resolve("c.bin"), rows));
        }

        @Test
        void headIsKept() throws Exception {
            FileCatalogue catalogue = (FileCatalogue) catalogue(rows(10));
            assertThat(catalogue.owner()).isEqualTo(HEAD.owner());
            try (Catalogue.Snapshot snapshot = catalogue.open()) {
                assertThat(snapshot.takenAt()).isEqualTo(HEAD.takenAt());
                assertThat(snapshot.incarnation()).isEqualTo("db/7");
            }
        }
    }

    /** A daemon opens the file's catalogue once, and a view of it for each cycle. */
    @Test
    void fileThatBecameTheCatalogueOfAnotherOwnerIsRefused() throws IOException {
        Path path = csv(folder.resolve("c.csv"), CatalogueContract.rows(3));
        FileCatalogue catalogue = FileCatalogue.csv(path);
        String text = Files.readString(path);
        String body = text.substring(0, text.lastIndexOf("#end"))
                .replace("owner=" + HEAD.owner().name(), "owner=somebody");
        String end = text.substring(text.lastIndexOf("#end")).replaceAll("[0-9a-f]{64}", sha256(body));
        Files.writeString(path, body + end);
        assertThat(FileCatalogue.csv(path).owner().name()).isEqualTo("somebody");
        assertThatThrownBy(() -> catalogue.open().close()).hasMessageContaining("is that of somebody now");
    }

    private static String sha256(String text) {
        try {
            return HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void exportThatWasCutOffIsRefused() throws IOException {
        List<CatalogueContract.Row> rows = CatalogueContract.rows(50);
        for (Path path : List.of(csv(folder.resolve("c.csv"), rows), binary(folder.resolve("c.bin"), rows))) {
            byte[] whole = Files.readAllBytes(path);
            for (int length = 0; length < whole.length - 1; length += length < whole.length - 150 ? 13 : 1) {
                Files.write(path, Arrays.copyOf(whole, length));
                assertThatThrownBy(() -> FileCatalogue.of(path))
                        .isInstanceOfSatisfying(
                                HoldfastException.class,
                                e -> assertThat(e.category()).isEqualTo(Category.CORRUPT));
            }
        }
    }

    @Test
    void fileThatChangesWhileItIsReadIsRefused() throws Exception {
        Path path = csv(folder.resolve("c.csv"), CatalogueContract.rows(50));
        try (Catalogue.Snapshot snapshot = FileCatalogue.csv(path).open()) {
            snapshot.check();
            Files.write(path, new byte[] {1}, java.nio.file.StandardOpenOption.APPEND);
            assertThatThrownBy(snapshot::check).hasMessageContaining("was changed");
        }
    }

    @Test
    void handMadeFileWithAWrongNumberOfRowsIsRefused() throws Exception {
        Path path = csv(folder.resolve("c.csv"), CatalogueContract.rows(3));
        String text = Files.readString(path).replace("#end 3 ", "#end 4 ");
        Files.writeString(path, text);
        try (Catalogue.Snapshot snapshot = FileCatalogue.csv(path).open()) {
            assertThatThrownBy(snapshot::counts).hasMessageContaining("4 rows and has 3");
        }
    }

    /** Whatever is done to the bytes of a file: its own rows come out, or CORRUPT. */
    @Test
    void fuzzedCataloguesAreRefused() throws Exception {
        List<CatalogueContract.Row> rows = CatalogueContract.rows(40);
        List<byte[]> originals = List.of(
                Files.readAllBytes(csv(folder.resolve("c.csv"), rows)),
                Files.readAllBytes(binary(folder.resolve("c.bin"), rows)));
        Path path = folder.resolve("fuzzed");
        Seeds.of(1_000).run((seed, random) -> {
            byte[] bytes = originals.get(random.nextInt(2)).clone();
            for (int i = random.nextInt(6); i >= 0; i--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
            }
            if (random.nextInt(4) == 0) {
                bytes = Arrays.copyOf(bytes, random.nextInt(2 * bytes.length));
            }
            Files.write(path, bytes);
            try (Catalogue.Snapshot snapshot = FileCatalogue.of(path).open()) {
                snapshot.counts();
                assertThat(CatalogueContract.scan(snapshot)).containsExactlyInAnyOrderElementsOf(rows);
            } catch (HoldfastException e) {
                assertThat(e.category()).isEqualTo(Category.CORRUPT);
            }
        });
    }

    static Path csv(Path path, List<CatalogueContract.Row> rows) throws IOException {
        try (FileCatalogue.Writer writer = CsvFile.write(path, HEAD, IdForm.HEX)) {
            for (CatalogueContract.Row row : rows) {
                writer.piece(row.node(), row.id().bytes(), row.created());
            }
        }
        return path;
    }

    static Path binary(Path path, List<CatalogueContract.Row> rows) throws IOException {
        List<NodeId> nodes =
                rows.stream().map(CatalogueContract.Row::node).distinct().toList();
        try (FileCatalogue.Writer writer = BinaryFile.write(path, HEAD, 16, nodes)) {
            for (CatalogueContract.Row row : rows) {
                writer.piece(row.node(), row.id().bytes(), row.created());
            }
        }
        return path;
    }
}
