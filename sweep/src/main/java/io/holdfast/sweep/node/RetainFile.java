package io.holdfast.sweep.node;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.filter.FilterFormat;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.Manifest;
import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Set;
import java.util.zip.CRC32C;

/**
 * A cycle that a node has examined: manifest, what was found, and whether trashing has been released. It survives a restart,
 * so that a cycle goes on where it was rather than being lost; a node that finds it damaged drops it and trashes nothing.
 *
 * <p>One file for the cycle under way, one for the last that was carried out, by whose filter the trash is emptied. The
 * filters lie beside them, so that asking how a node stands reads none.
 *
 * @param limit pieces newer than this are spared
 * @param released whether trashing has begun
 */
record RetainFile(
        Manifest manifest,
        Verdict verdict,
        Instant limit,
        long examined,
        long wouldTrash,
        long wouldTrashBytes,
        boolean released,
        boolean approved) {

    /** Which of the two. */
    enum Stage {
        UNDER_WAY("retain"),
        CARRIED_OUT("released");

        private final String file;

        Stage(String file) {
            this.file = file;
        }

        Path path(Path state, OwnerId owner) {
            return state.resolve(owner.folder()).resolve(file);
        }
    }

    private static final int MAGIC = 0x48465247;
    private static final int HEAD_MAX = 16 * 1024;
    private static final String FILTER = "filter-";

    RetainFile release(boolean byApproval) {
        return new RetainFile(manifest, verdict, limit, examined, wouldTrash, wouldTrashBytes, true, byApproval);
    }

    String digestText() {
        return manifest.digest();
    }

    private static Path filterPath(Path state, Manifest of) {
        return state.resolve(of.owner().folder())
                .resolve(FILTER + HexFormat.of().toHexDigits(of.cycle()));
    }

    /** Writes the filter, then what names it. */
    void write(Path state, StateFiles files, LiveFilter filter) throws IOException {
        files.replace(filterPath(state, manifest), out -> FilterFormat.write(filter, out));
        write(state, files);
        dropOtherFilters(state, files, manifest.owner());
    }

    void write(Path state, StateFiles files) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream head = new DataOutputStream(bytes)) {
            byte[] encoded = manifest.encode();
            head.writeInt(encoded.length);
            head.write(encoded);
            head.writeUTF(verdict.name());
            head.writeLong(limit.toEpochMilli());
            head.writeLong(examined);
            head.writeLong(wouldTrash);
            head.writeLong(wouldTrashBytes);
            head.writeBoolean(released);
            head.writeBoolean(approved);
        }
        byte[] head = bytes.toByteArray();
        files.replace(Stage.UNDER_WAY.path(state, manifest.owner()), out -> {
            DataOutputStream data = new DataOutputStream(out);
            data.writeInt(MAGIC);
            data.writeInt(head.length);
            data.write(head);
            data.writeLong(checksum(head));
            data.flush();
        });
    }

    /** It was carried out: from now on the trash may be emptied by its filter. */
    void finish(Path state, StateFiles files) throws IOException {
        OwnerId owner = manifest.owner();
        Path done = Stage.CARRIED_OUT.path(state, owner);
        Files.move(Stage.UNDER_WAY.path(state, owner), done, StandardCopyOption.ATOMIC_MOVE);
        files.syncFolder(StateFiles.parent(done));
        dropOtherFilters(state, files, owner);
    }

    /** Forgets a cycle, and its filter unless the other stage has it. */
    static void drop(Path state, StateFiles files, OwnerId owner, Stage stage) throws IOException {
        files.remove(stage.path(state, owner));
        dropOtherFilters(state, files, owner);
    }

    private static void dropOtherFilters(Path state, StateFiles files, OwnerId owner) throws IOException {
        Path folder = state.resolve(owner.folder());
        if (!Files.isDirectory(folder)) {
            return;
        }
        Set<Path> wanted = new HashSet<>();
        for (Stage stage : Stage.values()) {
            try {
                read(state, owner, stage).ifPresent(kept -> wanted.add(filterPath(state, kept.manifest())));
            } catch (HoldfastException e) {
                return; // which filter belongs to it is not known
            }
        }
        try (DirectoryStream<Path> filters = Files.newDirectoryStream(folder, FILTER + "*")) {
            for (Path filter : filters) {
                if (!wanted.contains(filter)) {
                    files.remove(filter);
                }
            }
        }
    }

    /** The filter; CORRUPT unless it is exactly the one that was signed. */
    LiveFilter filter(Path state, long bytesMax) throws IOException {
        try (InputStream file = new BufferedInputStream(Files.newInputStream(filterPath(state, manifest)), 1 << 16)) {
            LiveFilter filter = FilterFormat.read(file, bytesMax);
            if (!FilterFormat.digestText(filter).equals(manifest.digest()) || filter.seed() != manifest.seed()) {
                throw new IOException("the filter is not the one that was signed");
            }
            return filter;
        } catch (IOException | RuntimeException e) {
            throw untrusted(manifest.owner(), e);
        }
    }

    /** What is stored of a stage, if anything. */
    static Optional<RetainFile> read(Path state, OwnerId owner, Stage stage) throws IOException {
        try (InputStream file = new BufferedInputStream(Files.newInputStream(stage.path(state, owner)))) {
            DataInputStream in = new DataInputStream(file);
            if (in.readInt() != MAGIC) {
                throw new IOException("it does not begin as one");
            }
            byte[] head = block(in);
            if (in.readLong() != checksum(head) || in.read() >= 0) {
                throw new IOException("the checksum of its head does not match");
            }
            RetainFile retain = parse(head);
            if (!retain.manifest().owner().equals(owner)) {
                throw new IOException("it belongs to another owner");
            }
            return Optional.of(retain);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException | RuntimeException e) {
            throw untrusted(owner, e);
        }
    }

    private static HoldfastException untrusted(OwnerId owner, Exception cause) {
        return new HoldfastException(
                Category.CORRUPT,
                "the stored cycle of owner " + owner + " cannot be trusted: " + cause.getMessage(),
                "it is dropped and trashes nothing; the next cycle brings another filter",
                cause);
    }

    private static RetainFile parse(byte[] head) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(head));
        Manifest manifest = Manifest.decode(block(in));
        RetainFile retain = new RetainFile(
                manifest,
                Verdict.valueOf(in.readUTF()),
                Instant.ofEpochMilli(in.readLong()),
                in.readLong(),
                in.readLong(),
                in.readLong(),
                in.readBoolean(),
                in.readBoolean());
        if (retain.limit().isAfter(manifest.cutoff())) {
            throw new IOException("its parts do not belong together");
        }
        return retain;
    }

    private static byte[] block(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > HEAD_MAX) {
            throw new IOException("a part of " + length + " bytes");
        }
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw new IOException("it ends too early");
        }
        return bytes;
    }

    private static long checksum(byte[] bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes);
        return crc.getValue();
    }
}
