package io.holdfast.sweep.catalogue;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * A catalogue that was exported to a file, as text ({@link CsvFile}) or as records of a fixed width ({@link
 * BinaryFile}). Both end with the number of rows and a SHA-256 over all that comes before: an export that was cut off,
 * edited or damaged names too few pieces, and is refused before the first of them is believed.
 */
public final class FileCatalogue implements Catalogue {

    /** What the head of a file says. */
    public record Head(OwnerId owner, Instant takenAt, String incarnation) {

        public Head {
            if (incarnation.isEmpty() || incarnation.length() > 256 || !incarnation.matches("[!-~]+")) {
                throw HoldfastException.misuse(
                        "catalogue incarnation '" + incarnation + "'", "use 1 to 256 visible ASCII characters");
            }
        }
    }

    /** Takes the rows of an export. Closing it seals the file; a file that was not closed is refused by readers. */
    public interface Writer extends PieceSink, AutoCloseable {
        @Override
        void piece(NodeId node, byte[] id, long createdMillis) throws IOException;

        @Override
        void close() throws IOException;
    }

    /** How the two kinds of files are read. */
    interface Format {
        Head head();

        long rows();

        int ranges(int wanted);

        void scan(FileChannel channel, int range, int ranges, PieceSink sink) throws Exception;
    }

    /** Reads head and end of a file whose digest is known to be right. */
    @FunctionalInterface
    interface Opener {
        Format open(FileChannel channel, long length) throws IOException;
    }

    private final Path path;
    private final Opener opener;
    private final Head head;

    private FileCatalogue(Path path, Opener opener) throws IOException {
        this.path = path;
        this.opener = opener;
        try (FileChannel channel = channel(path)) {
            this.head = opener.open(channel, channel.size()).head();
        }
    }

    /** A CSV export; the form of its ids is in its head. */
    public static FileCatalogue csv(Path path) throws IOException {
        return new FileCatalogue(path, CsvFile::open);
    }

    /** An export in records of a fixed width. */
    public static FileCatalogue binary(Path path) throws IOException {
        return new FileCatalogue(path, BinaryFile::open);
    }

    /** Either of them, as the first bytes tell. */
    public static FileCatalogue of(Path path) throws IOException {
        try (FileChannel channel = channel(path)) {
            byte[] magic = new byte[4];
            readFully(channel, 0, ByteBuffer.wrap(magic, 0, (int) Math.min(4, channel.size())));
            return BinaryFile.isMagic(magic) ? binary(path) : csv(path);
        }
    }

    @Override
    public OwnerId owner() {
        return head.owner();
    }

    @Override
    public Snapshot open() throws IOException {
        FileChannel channel = channel(path);
        try {
            Format format = opener.open(channel, channel.size());
            if (!format.head().owner().equals(owner())) {
                throw HoldfastException.misuse(
                        path + " was the catalogue of " + owner() + " and is that of "
                                + format.head().owner() + " now",
                        "put each owner's catalogue into a file of its own");
            }
            return new View(channel, format);
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    private static FileChannel channel(Path path) throws IOException {
        return FileChannel.open(path, StandardOpenOption.READ);
    }

    private BasicFileAttributes attributes() throws IOException {
        return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    }

    private final class View implements Snapshot {
        private final FileChannel channel;
        private final Format format;
        private final BasicFileAttributes before;

        View(FileChannel channel, Format format) throws IOException {
            this.channel = channel;
            this.format = format;
            this.before = attributes();
        }

        @Override
        public Instant takenAt() {
            return format.head().takenAt();
        }

        @Override
        public String incarnation() {
            return format.head().incarnation();
        }

        @Override
        public int ranges() {
            return format.ranges(Runtime.getRuntime().availableProcessors());
        }

        @Override
        public void scan(int range, PieceSink sink) throws Exception {
            format.scan(channel, range, ranges(), sink);
        }

        @Override
        public Optional<Map<NodeId, Long>> counts() throws Exception {
            Map<NodeId, Long> counts = new HashMap<>();
            for (int range = 0; range < ranges(); range++) {
                scan(range, (node, id, created) -> counts.merge(node, 1L, Long::sum));
            }
            long total = counts.values().stream().mapToLong(Long::longValue).sum();
            if (total != format.rows()) {
                throw corrupt("it says " + format.rows() + " rows and has " + total);
            }
            return Optional.of(counts);
        }

        @Override
        public void check() throws IOException {
            BasicFileAttributes now = attributes();
            if (now.size() != before.size() || !now.lastModifiedTime().equals(before.lastModifiedTime())) {
                throw corrupt(path.getFileName() + " was changed while it was read");
            }
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }

    static void readFully(FileChannel channel, long at, ByteBuffer into) throws IOException {
        long position = at;
        while (into.hasRemaining()) {
            int count = channel.read(into, position);
            if (count < 0) {
                throw corrupt("it ends too early");
            }
            position += count;
        }
    }

    /** The digest of the first {@code length} bytes. */
    static byte[] digest(FileChannel channel, long length) throws IOException {
        MessageDigest digest = sha256();
        ByteBuffer chunk = ByteBuffer.allocate(1 << 16);
        for (long at = 0; at < length; ) {
            chunk.clear().limit((int) Math.min(chunk.capacity(), length - at));
            readFully(channel, at, chunk);
            at += chunk.flip().remaining();
            digest.update(chunk);
        }
        return digest.digest();
    }

    static DigestOutputStream digesting(OutputStream out) {
        return new DigestOutputStream(out, sha256());
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JVM has no SHA-256", e);
        }
    }

    static HoldfastException corrupt(String what) {
        return new HoldfastException(
                Category.CORRUPT,
                "the catalogue file cannot be trusted: " + what,
                "export it again; nothing was trashed",
                null);
    }
}
