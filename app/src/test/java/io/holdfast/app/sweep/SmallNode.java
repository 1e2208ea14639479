package io.holdfast.app.sweep;

import io.holdfast.sweep.catalogue.CsvFile;
import io.holdfast.sweep.catalogue.FileCatalogue;
import io.holdfast.sweep.catalogue.IdForm;
import io.holdfast.sweep.node.FilePieceStore;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/** Node n1 with some live pieces and some garbage, all ten days old, and the catalogue that knows the live ones. */
public record SmallNode(Path folder, Path catalogue, List<PieceId> live, List<PieceId> garbage) {

    public static SmallNode make(Path in, OwnerId owner, int livePieces, int garbagePieces) throws IOException {
        Path folder = in.resolve("n1");
        List<PieceId> live = ids(1, livePieces);
        List<PieceId> garbage = ids(2, garbagePieces);
        try (StorageNode storage =
                StorageNode.at(folder, "n1").sync(FilePieceStore.Sync.NONE).open()) {
            for (List<PieceId> some : List.of(live, garbage)) {
                for (PieceId id : some) {
                    storage.put(owner, id, new ByteArrayInputStream(id.bytes()));
                }
            }
        }
        try (Stream<Path> files = Files.walk(folder.resolve("pieces"))) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Files.setLastModifiedTime(file, FileTime.from(Instant.now().minus(Duration.ofDays(10))));
            }
        }
        Path catalogue = in.resolve("pieces.csv");
        FileCatalogue.Head head = new FileCatalogue.Head(owner, Instant.now(), "db-1");
        try (FileCatalogue.Writer writer = CsvFile.write(catalogue, head, IdForm.HEX)) {
            for (PieceId id : live) {
                writer.piece(new NodeId("n1"), id.bytes(), Instant.now().toEpochMilli());
            }
        }
        return new SmallNode(folder, catalogue, live, garbage);
    }

    /** How many pieces lie in its trash. */
    public long trashed() throws IOException {
        try (Stream<Path> files = Files.walk(folder.resolve("trash"))) {
            return files.filter(Files::isRegularFile).count();
        }
    }

    private static List<PieceId> ids(long seed, int count) {
        SplittableRandom random = new SplittableRandom(seed);
        List<PieceId> ids = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] id = new byte[32];
            random.nextBytes(id);
            ids.add(PieceId.of(id));
        }
        return ids;
    }
}
