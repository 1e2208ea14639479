package io.holdfast.embedded;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A data folder that is ours until closed. Two servers on one append-only file would ruin it, so the folder has a lock
 * file, locked by the process that started the server. That process may be killed, which frees the lock a moment
 * before its server ends; so the file also names the server, and the next one waits until that is gone.
 */
final class DataFolder implements AutoCloseable {

    private static final String LOCK_FILE = "holdfast.lock";
    private static final int RECORD_BYTES_MAX = 64;
    private static final long START_SLACK_MS = 5_000;
    private static final int PREDECESSOR_SECONDS_MAX = 10;

    private final Path path;
    private final FileChannel lockFile;

    private DataFolder(Path path, FileChannel lockFile) {
        this.path = path;
        this.lockFile = lockFile;
    }

    static DataFolder lock(Path asked) {
        Path path = asked.toAbsolutePath().normalize();
        FileChannel channel = null;
        try {
            if (!Files.isDirectory(path)) {
                Files.createDirectories(
                        path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            }
            channel = FileChannel.open(
                    path.resolve(LOCK_FILE),
                    StandardOpenOption.CREATE,
                    StandardOpenOption.READ,
                    StandardOpenOption.WRITE);
            if (!tryLock(channel)) {
                throw inUse(path);
            }
            awaitPredecessor(path, channel);
            return new DataFolder(path, channel);
        } catch (IOException e) {
            close(channel);
            throw HoldfastException.misuse(
                    "the data folder " + path + " cannot be used: " + e, "name a folder that can be written to");
        } catch (RuntimeException e) {
            close(channel);
            throw e;
        }
    }

    Path path() {
        return path;
    }

    /** Notes which server works here. */
    void usedBy(long pid) {
        try {
            String started = ProcessHandle.of(pid)
                    .flatMap(handle -> handle.info().startInstant())
                    .map(instant -> String.valueOf(instant.toEpochMilli()))
                    .orElse("0");
            lockFile.truncate(0);
            lockFile.write(ByteBuffer.wrap((pid + " " + started).getBytes(StandardCharsets.US_ASCII)), 0);
        } catch (IOException e) {
            throw new HoldfastException(Category.FULL, "the lock file of " + path + " cannot be written: " + e, e);
        }
    }

    @Override
    public void close() {
        close(lockFile);
    }

    private static boolean tryLock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock() != null;
        } catch (OverlappingFileLockException e) {
            return false; // by another server of this very process
        }
    }

    private static void awaitPredecessor(Path path, FileChannel channel) throws IOException {
        var buffer = ByteBuffer.allocate(RECORD_BYTES_MAX);
        channel.read(buffer, 0);
        String[] record = new String(buffer.array(), 0, buffer.position(), StandardCharsets.US_ASCII).split(" ", 2);
        if (record.length != 2 || !record[0].matches("[0-9]{1,18}") || !record[1].matches("[0-9]{1,18}")) {
            return;
        }
        Optional<ProcessHandle> predecessor = ProcessHandle.of(Long.parseLong(record[0]))
                .filter(handle -> startedAt(handle, Long.parseLong(record[1])));
        if (predecessor.isEmpty()) {
            return;
        }
        try {
            predecessor.get().onExit().get(PREDECESSOR_SECONDS_MAX, TimeUnit.SECONDS);
        } catch (TimeoutException | ExecutionException e) {
            throw inUse(path);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw inUse(path);
        }
    }

    /** A process id may be given again, so the time of its start must fit too, as exactly as the system keeps it. */
    private static boolean startedAt(ProcessHandle handle, long millis) {
        return handle.info()
                .startInstant()
                .map(instant -> Math.abs(instant.toEpochMilli() - millis) <= START_SLACK_MS)
                .orElse(true);
    }

    private static HoldfastException inUse(Path path) {
        return HoldfastException.misuse(
                "the data folder " + path + " is in use by another embedded Redis server",
                "close that one first, connect to it by its URI, or name another folder");
    }

    private static void close(@Nullable FileChannel channel) {
        if (channel == null) {
            return;
        }
        try {
            channel.close();
        } catch (IOException e) {
            throw new HoldfastException(Category.RETRY, "the lock file cannot be closed: " + e, e);
        }
    }
}
