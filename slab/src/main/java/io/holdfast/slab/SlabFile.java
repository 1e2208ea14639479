package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * The file behind a region: made whole before it has its name, judged before it is mapped.
 *
 * <ol>
 *   <li>A new file is written under a temporary name, every block of it, so that a full disk is an error now and not a
 *       signal later; then it is published by a hard link. One process writes, under a lock on the temporary file, and the
 *       others wait for it; the file of a writer that died is written anew by the next.
 *   <li>An existing file is opened without following links; owner, permissions, length, header checksum and boot are
 *       checked with plain reads.
 *   <li>A file of another boot has deadlines of another clock: it is replaced, under a lock on the old file, so that of two
 *       processes that find it only one replaces it. Who attaches to a cache as it is replaces nothing.
 *   <li>A file is never truncated once it has its name, and never grows.
 * </ol>
 */
final class SlabFile {

    private static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rw-------");
    /** What the kernel says when the disk, the user's quota or the process's limit is used up. */
    private static final List<String> OUT_OF_SPACE =
            List.of("No space left on device", "Disk quota exceeded", "File too large");

    /** File systems that write a block that was written before to another place. */
    private static final Set<String> COPY_ON_WRITE = Set.of("btrfs", "zfs", "bcachefs");

    private static final int BLOCK = 1 << 20;
    private static final int TRIES_MOST = 100;
    /** Longer than writing the largest file takes on a disk. */
    private static final Duration CREATED_WITHIN = Duration.ofMinutes(2);
    /** Byte of a file that is locked to create or replace it; names of processes are lower. */
    private static final long CREATION = Long.MAX_VALUE - 1;

    private final Path path;
    private final Host host;

    SlabFile(Path path, Host host) {
        this.path = path;
        this.host = host;
    }

    /** The file of a cache; its name carries the version of the layout. */
    static Path named(Path base) {
        Path name = base.getFileName();
        if (name == null || name.toString().isEmpty()) {
            throw HoldfastException.misuse(
                    "the cache path '" + base + "' names no file", "give a path with a file name");
        }
        return name.toString().endsWith(SlabLayout.SUFFIX) ? base : base.resolveSibling(name + SlabLayout.SUFFIX);
    }

    /** A mapped file, what its header says, and its sign of life. */
    record Mapped(MemorySegment segment, SlabLayout layout, long hashSeed, Object fileKey, Life life) {}

    /** Opens the file, or creates it if a layout is given; null if it does not exist and none is given. */
    @Nullable
    Mapped open(@Nullable SlabLayout wanted, long nowMillis) {
        try {
            for (int i = 0; i < TRIES_MOST; i++) {
                try {
                    Mapped mapped = attach(wanted != null);
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
                path.startsWith("/dev/shm")
                        ? "make the cache smaller, or /dev/shm larger: a container has 64 MB unless started with"
                                + " --shm-size"
                        : "free space there, or make the cache smaller",
                e);
    }

    /** Null if the file was one of another boot and is gone now. */
    private @Nullable Mapped attach(boolean mayReplace) throws IOException {
        checkAccess();
        Descriptor descriptor = Descriptor.open(path);
        boolean joined = false;
        try (FileChannel channel = descriptor.channel()) {
            Header header = header(channel);
            if (!header.ofThisBoot()) {
                if (!mayReplace) {
                    throw ofAnotherBoot();
                }
                replace(descriptor);
                return null;
            }
            SlabLayout layout = header.layout();
            MemorySegment segment = LargePages.map(channel, layout.fileBytes(), Arena::ofAuto);
            Object fileKey = descriptor.fileKey();
            Life life = host.join(descriptor);
            joined = true;
            return new Mapped(segment, layout, header.hashSeed(), fileKey, life);
        } finally {
            if (!joined) {
                descriptor.close();
            }
        }
    }

    /** A file mapped for reading, what its header says, and whether this boot wrote it. */
    record Inspected(MemorySegment segment, SlabLayout layout, long hashSeed, Life life, boolean ofThisBoot) {}

    /** Maps the file for reading and changes nothing, not even the set of those who have it open. */
    Inspected inspect() {
        if (!Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
            if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
                throw SlabLayout.refused(path.toString(), "it is not a regular file");
            }
            throw absent(path);
        }
        try {
            Descriptor descriptor = Descriptor.inspect(path);
            Life life = FileLife.watching(descriptor);
            try (FileChannel channel = descriptor.readingChannel()) {
                Header header = header(channel);
                MemorySegment segment =
                        channel.map(MapMode.READ_ONLY, 0, header.layout().fileBytes(), Arena.ofAuto());
                return new Inspected(segment, header.layout(), header.hashSeed(), life, header.ofThisBoot());
            }
        } catch (NoSuchFileException e) {
            throw absent(path);
        } catch (IOException e) {
            throw unusable(e);
        }
    }

    static HoldfastException absent(Path path) {
        return new HoldfastException(
                Category.GONE, "there is no cache " + path, "check the path, or create the cache", null);
    }

    private record Header(SlabLayout layout, long hashSeed, boolean ofThisBoot) {}

    private Header header(FileChannel channel) throws IOException {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment header = scratch.allocate(SlabLayout.TABLES, 8);
            int read = readFully(channel, header);
            if (read < SlabLayout.TABLES) {
                throw SlabLayout.refused(path.toString(), "it has only " + read + " bytes");
            }
            SlabLayout layout = SlabLayout.readHeader(header, path.toString());
            if (channel.size() != layout.fileBytes()) {
                throw SlabLayout.refused(
                        path.toString(), "it has " + channel.size() + " bytes and should have " + layout.fileBytes());
            }
            Memory words = new Memory(header);
            return new Header(layout, words.word(SlabLayout.H_HASH_SEED), isOfThisBoot(words));
        }
    }

    private boolean isOfThisBoot(Memory header) {
        return header.word(SlabLayout.H_BOOT) == host.bootHigh()
                && header.word(SlabLayout.H_BOOT + 8) == host.bootLow();
    }

    private HoldfastException ofAnotherBoot() {
        return new HoldfastException(
                Category.GONE,
                "the cache " + path + " is of another boot of this machine, or of another machine",
                "inspect it read-only, or open it with a size: it is then replaced by an empty one",
                null);
    }

    /** Deletes a stale file, unless another process has replaced it already. */
    private void replace(Descriptor stale) throws IOException {
        if (!stale.lock(CREATION, CREATED_WITHIN)) {
            throw new HoldfastException(Category.RETRY, "another process is replacing " + path + " and does not end");
        }
        if (stale.isStill(path)) {
            Files.deleteIfExists(path);
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
        int self = Descriptor.effectiveUser();
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

    private void create(SlabLayout layout, long nowMillis) throws IOException {
        Path directory = java.util.Objects.requireNonNull(path.toAbsolutePath().getParent());
        Path temporary = directory.resolve("." + path.getFileName() + ".tmp");
        try (Descriptor descriptor = Descriptor.create(temporary)) {
            if (!descriptor.lock(CREATION, CREATED_WITHIN)) {
                throw new HoldfastException(
                        Category.RETRY,
                        "another process has been creating " + path + " for " + CREATED_WITHIN.toSeconds() + " s");
            }
            if (!descriptor.isStill(temporary)) {
                return; // another process was first, or failed: look again
            }
            try {
                if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
                    write(descriptor, directory, layout, nowMillis);
                    Files.createLink(path, temporary);
                }
            } catch (FileAlreadyExistsException e) {
                // By another program, or by a version that creates otherwise: its file is judged like any other.
            } finally {
                Files.deleteIfExists(temporary);
            }
        }
    }

    private void write(Descriptor descriptor, Path directory, SlabLayout layout, long nowMillis) throws IOException {
        try (FileChannel channel = descriptor.channel();
                Arena arena = Arena.ofConfined()) {
            long size = layout.fileBytes();
            channel.truncate(0); // what one left who died while creating
            FileStore store = Files.getFileStore(directory);
            if (store.getUsableSpace() < size) {
                throw noSpace("it needs " + size + " bytes and " + store.getUsableSpace() + " are free", null);
            }
            if (COPY_ON_WRITE.contains(store.type())) {
                System.getLogger(SlabFile.class.getName())
                        .log(
                                Level.WARNING,
                                "{0} is on {1}, which reserves nothing for later writes: a full disk will end"
                                        + " processes that use the cache; put it into /dev/shm",
                                path,
                                store.type());
            }
            if (store.type().equals("tmpfs")) {
                LargePages.lay(channel, size);
            }
            ByteBuffer zeros = ByteBuffer.allocateDirect(BLOCK);
            for (long at = 0; at < size; ) {
                zeros.clear().limit((int) Math.min(BLOCK, size - at));
                at += channel.write(zeros, at);
            }
            MemorySegment segment = channel.map(MapMode.READ_WRITE, 0, size, arena);
            Shards.format(Shards.cut(segment, layout, Memory::new), layout, nowMillis);
            layout.writeHeader(segment, host, new SplittableRandom().nextLong(), nowMillis);
        }
    }
}
