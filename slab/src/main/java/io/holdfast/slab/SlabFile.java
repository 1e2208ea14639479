package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.channels.FileLock;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The file behind a region: made whole before anybody can see it, judged before anybody maps it.
 *
 * <ol>
 *   <li>A new file is written under a temporary name, every block of it, so that a full disk is an error now and not a
 *       signal later; then it is published by a hard link, which fails if another process was first, and that one's
 *       file is used.
 *   <li>An existing file is opened without following links; owner, permissions, length, header checksum, boot and pid
 *       namespace are checked with plain reads.
 *   <li>A file of another boot describes processes that cannot exist: it is replaced, under a lock on the old file, so
 *       that of two processes that find it only one replaces it.
 *   <li>A file is never truncated and never grows.
 * </ol>
 */
final class SlabFile {

    private static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rw-------");
    /** What the kernel says when the disk, the user's quota or the process's limit is used up. */
    private static final List<String> OUT_OF_SPACE =
            List.of("No space left on device", "Disk quota exceeded", "File too large");

    private static final int BLOCK = 1 << 20;
    private static final int TRIES_MOST = 100;

    private final Path path;
    private final Host host;

    SlabFile(Path path, Host host) {
        this.path = path;
        this.host = host;
    }

    /** The file of a cache; its name carries the version of the layout. */
    static Path named(Path base) {
        String name = String.valueOf(base.getFileName());
        return name.endsWith(SlabLayout.SUFFIX) ? base : base.resolveSibling(name + SlabLayout.SUFFIX);
    }

    /** A mapped file and what its header says. */
    record Mapped(MemorySegment segment, SlabLayout layout, long hashSeed) {}

    /** Opens the file, or creates it if a layout is given; null if it does not exist and none is given. */
    @Nullable
    Mapped open(@Nullable SlabLayout wanted, long nowMillis) {
        try {
            for (int i = 0; i < TRIES_MOST; i++) {
                try {
                    Mapped mapped = attach();
                    if (mapped != null) {
                        return mapped;
                    }
                } catch (NoSuchFileException e) {
                    if (wanted == null) {
                        return null;
                    }
                    create(wanted, nowMillis);
                }
            }
        } catch (IOException e) {
            throw unusable(e);
        }
        throw new HoldfastException(Category.RETRY, "cannot open " + path + ": others replace it all the time");
    }

    private HoldfastException unusable(IOException e) {
        String message = String.valueOf(e.getMessage());
        if (OUT_OF_SPACE.stream().anyMatch(message::contains)) {
            return noSpace("writing it ended with '" + message + "'", e);
        }
        return new HoldfastException(
                Category.MISUSE,
                "cannot open the cache file " + path + ": " + e,
                "check the path and its permissions",
                e);
    }

    private HoldfastException noSpace(String why, @Nullable IOException e) {
        return new HoldfastException(
                Category.FULL,
                "no space left for the cache file " + path + ": " + why,
                "free space there, or make the cache smaller",
                e);
    }

    /** Null if the file was one of another boot and is gone now. */
    private @Nullable Mapped attach() throws IOException {
        checkAccess();
        try (FileChannel channel = FileChannel.open(
                        path,
                        EnumSet.of(StandardOpenOption.READ, StandardOpenOption.WRITE),
                        new java.nio.file.attribute.FileAttribute<?>[0]);
                Arena scratch = Arena.ofConfined()) {
            MemorySegment header = scratch.allocate(SlabLayout.TABLES, 8);
            int read = readFully(channel, header);
            if (read < SlabLayout.TABLES) {
                throw SlabLayout.refused(path.toString(), "it has only " + read + " bytes");
            }
            SlabLayout layout = SlabLayout.readHeader(header, path.toString());
            if (channel.size() != layout.size) {
                throw SlabLayout.refused(
                        path.toString(), "it has " + channel.size() + " bytes and should have " + layout.size);
            }
            Memory words = new Memory(header);
            if (words.word(SlabLayout.H_BOOT) != host.bootHigh()
                    || words.word(SlabLayout.H_BOOT + 8) != host.bootLow()) {
                dropStale(channel);
                return null;
            }
            if (words.word(SlabLayout.H_PID_NAMESPACE) != host.pidNamespace()) {
                throw HoldfastException.misuse(
                        "the cache " + path + " belongs to processes of another pid namespace",
                        "share the pid namespace between the containers, or use a file per namespace");
            }
            MemorySegment segment = LargePages.map(channel, layout.size, Arena::ofAuto);
            return new Mapped(segment, layout, words.word(SlabLayout.H_HASH_SEED));
        }
    }

    private static int readFully(FileChannel channel, MemorySegment into) throws IOException {
        ByteBuffer buffer = into.asByteBuffer();
        while (buffer.hasRemaining() && channel.read(buffer, buffer.position()) > 0) {}
        return buffer.position();
    }

    private void checkAccess() throws IOException {
        if (!Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
            if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
                throw SlabLayout.refused(path.toString(), "it is not a regular file");
            }
            throw new NoSuchFileException(path.toString());
        }
        Object owner = Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS);
        Object self = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        if (!owner.equals(self)) {
            throw HoldfastException.misuse(
                    "the cache " + path + " belongs to user " + owner + ", this process runs as " + self,
                    "run all processes of a cache as one user");
        }
        Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS);
        if (!permissions.equals(OWNER_ONLY)) {
            throw HoldfastException.misuse(
                    "the cache " + path + " has permissions " + PosixFilePermissions.toString(permissions)
                            + "; allowed: rw-------",
                    "chmod 600, if nobody else could have written to it; delete it otherwise");
        }
    }

    private void dropStale(FileChannel channel) throws IOException {
        FileLock lock = channel.lock();
        try {
            // Only if the name still means the file that was judged: another process may have replaced it.
            try (FileChannel again = FileChannel.open(path, StandardOpenOption.READ);
                    Arena scratch = Arena.ofConfined()) {
                MemorySegment header = scratch.allocate(SlabLayout.TABLES, 8);
                readFully(again, header);
                Memory words = new Memory(header);
                if (words.word(SlabLayout.H_BOOT) != host.bootHigh()
                        || words.word(SlabLayout.H_BOOT + 8) != host.bootLow()) {
                    Files.delete(path);
                }
            } catch (NoSuchFileException e) {
                // Replaced by another process between its delete and its link.
            }
        } finally {
            lock.release();
        }
    }

    private void create(SlabLayout layout, long nowMillis) throws IOException {
        Path directory = java.util.Objects.requireNonNull(path.toAbsolutePath().getParent());
        String prefix = "." + path.getFileName() + ".";
        dropAbandoned(directory, prefix);
        long usable = Files.getFileStore(directory).getUsableSpace();
        if (usable < layout.size) {
            throw noSpace("it needs " + layout.size + " bytes and " + usable + " are free", null);
        }
        Path temporary = directory.resolve(prefix + Long.toHexString(host.me()) + "." + System.nanoTime() + ".tmp");
        try {
            try (FileChannel channel = FileChannel.open(
                            temporary,
                            EnumSet.of(
                                    StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE),
                            PosixFilePermissions.asFileAttribute(OWNER_ONLY));
                    Arena arena = Arena.ofConfined()) {
                if (Files.getFileStore(directory).type().equals("tmpfs")) {
                    LargePages.lay(channel, layout.size);
                }
                ByteBuffer zeros = ByteBuffer.allocateDirect(BLOCK);
                for (long at = 0; at < layout.size; ) {
                    zeros.clear().limit((int) Math.min(BLOCK, layout.size - at));
                    at += channel.write(zeros, at);
                }
                MemorySegment segment = channel.map(MapMode.READ_WRITE, 0, layout.size, arena);
                SlabStore.format(new Memory(segment), layout);
                layout.writeHeader(segment, host, RandomGenerator.getDefault().nextLong(), nowMillis);
            }
            Files.createLink(path, temporary);
        } catch (FileAlreadyExistsException e) {
            // Another process was first: its file is as good.
        } finally {
            Files.deleteIfExists(temporary);
        }
    }

    /** Removes what processes left that died while creating. */
    private void dropAbandoned(Path directory, String prefix) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.toList()) {
                String name = file.getFileName().toString();
                if (name.startsWith(prefix) && name.endsWith(".tmp")) {
                    String creator = name.substring(prefix.length(), name.indexOf('.', prefix.length()));
                    if (!creator.matches("[0-9a-f]{1,16}") || !host.isAlive(Long.parseUnsignedLong(creator, 16))) {
                        Files.deleteIfExists(file);
                    }
                }
            }
        }
    }
}
