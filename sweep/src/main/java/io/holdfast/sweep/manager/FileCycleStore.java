package io.holdfast.sweep.manager;

import io.holdfast.sweep.piece.OwnerId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

/** A file an owner, replaced whole and synced; a lock on a file beside it makes comparing and setting one. */
public final class FileCycleStore implements CycleStore {

    private final Path folder;

    public FileCycleStore(Path folder) throws IOException {
        this.folder = folder;
        Files.createDirectories(folder);
    }

    private Path path(OwnerId owner) {
        return folder.resolve("cycles-" + owner.folder());
    }

    @Override
    public Optional<String> read(OwnerId owner) throws IOException {
        try {
            return Optional.of(Files.readString(path(owner), StandardCharsets.UTF_8));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /** The lock of a file keeps other processes out, this monitor the other threads of ours. */
    @Override
    public boolean compareAndSet(OwnerId owner, Optional<String> expected, String next) throws IOException {
        synchronized (FileCycleStore.class) {
            try (FileChannel lock = FileChannel.open(
                            folder.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                    FileLock held = lock.lock()) {
                if (!held.isValid() || !read(owner).equals(expected)) {
                    return false;
                }
                Path path = path(owner);
                Path temp = path.resolveSibling(path.getFileName() + ".next");
                try (FileChannel out = FileChannel.open(
                        temp,
                        StandardOpenOption.CREATE,
                        StandardOpenOption.TRUNCATE_EXISTING,
                        StandardOpenOption.WRITE)) {
                    ByteBuffer bytes = ByteBuffer.wrap(next.getBytes(StandardCharsets.UTF_8));
                    while (bytes.hasRemaining()) {
                        out.write(bytes);
                    }
                    out.force(true);
                }
                Files.move(temp, path, StandardCopyOption.ATOMIC_MOVE);
                try (FileChannel names = FileChannel.open(folder, StandardOpenOption.READ)) {
                    names.force(true);
                }
                return true;
            }
        }
    }
}
