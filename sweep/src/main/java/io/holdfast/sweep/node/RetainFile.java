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
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * The cycle that a node is in the middle of: manifest, filter, what the examination found, and whether trashing has
 * been released. It survives a restart, so that a cycle goes on where it was rather than being lost; a node that finds
 * it damaged drops it and trashes nothing.
 *
 * @param limit pieces newer than this are spared
 * @param released whether trashing has begun
 */
record RetainFile(
        Manifest manifest,
        LiveFilter filter,
        Verdict verdict,
        Instant limit,
        long examined,
        long wouldTrash,
        long wouldTrashBytes,
        boolean released,
        boolean approved) {

    private static final int MAGIC = 0x48465246;
    private static final int HEAD_MAX = 16 * 1024;

    RetainFile release(boolean byApproval) {
        return new RetainFile(
                manifest, filter, verdict, limit, examined, wouldTrash, wouldTrashBytes, true, byApproval);
    }

    String digestText() {
        return manifest.digest();
    }

    static Path path(Path state, OwnerId owner) {
        return state.resolve(owner.folder()).resolve("retain");
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
        files.replace(path(state, manifest.owner()), out -> {
            DataOutputStream data = new DataOutputStream(out);
            data.writeInt(MAGIC);
            data.writeInt(head.length);
            data.write(head);
            data.writeLong(checksum(head));
            data.flush();
            FilterFormat.write(filter, out);
        });
    }

    /** The cycle under way, if any. */
    static Optional<RetainFile> read(Path state, OwnerId owner, long filterBytesMax) throws IOException {
        try (InputStream file = new BufferedInputStream(Files.newInputStream(path(state, owner)), 1 << 16)) {
            DataInputStream in = new DataInputStream(file);
            if (in.readInt() != MAGIC) {
                throw new IOException("it does not begin as one");
            }
            byte[] head = block(in);
            if (in.readLong() != checksum(head)) {
                throw new IOException("the checksum of its head does not match");
            }
            RetainFile retain = parse(head, FilterFormat.read(file, filterBytesMax));
            if (!retain.manifest().owner().equals(owner)) {
                throw new IOException("it belongs to another owner");
            }
            return Optional.of(retain);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException | RuntimeException e) {
            throw new HoldfastException(
                    Category.CORRUPT,
                    "the stored cycle of owner " + owner + " cannot be trusted: " + e.getMessage(),
                    "it is dropped and trashes nothing; the next cycle brings another filter",
                    e);
        }
    }

    private static RetainFile parse(byte[] head, LiveFilter filter) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(head));
        Manifest manifest = Manifest.decode(block(in));
        RetainFile retain = new RetainFile(
                manifest,
                filter,
                Verdict.valueOf(in.readUTF()),
                Instant.ofEpochMilli(in.readLong()),
                in.readLong(),
                in.readLong(),
                in.readLong(),
                in.readBoolean(),
                in.readBoolean());
        if (!FilterFormat.digestText(filter).equals(manifest.digest())
                || retain.limit().isAfter(manifest.cutoff())) {
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
