package io.holdfast.sweep.node;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Writes files that are replaced whole: after a crash there is the old content or the new one. If the disk is full, the
 * ballast makes room, once.
 */
record StateFiles(
        FilePieceStore.Sync sync,
        NodeStep.Watch watch,
        @Nullable Ballast ballast) {

    StateFiles(FilePieceStore.Sync sync, NodeStep.Watch watch) {
        this(sync, watch, null);
    }

    /** Writes the new content. */
    @FunctionalInterface
    interface Content {
        void writeTo(OutputStream out) throws IOException;
    }

    void replace(Path path, Content content) throws IOException {
        Files.createDirectories(parent(path));
        try {
            write(path, content);
        } catch (IOException e) {
            if (ballast == null || !ballast.drop()) {
                throw e;
            }
            write(path, content);
        }
    }

    private void write(Path path, Content content) throws IOException {
        Path next = path.resolveSibling(path.getFileName() + ".next");
        try (FileChannel channel = FileChannel.open(
                next, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
            OutputStream out = new BufferedOutputStream(Channels.newOutputStream(channel), 1 << 16);
            content.writeTo(out);
            out.flush();
            if (sync == FilePieceStore.Sync.DURABLE) {
                channel.force(true);
            }
        }
        watch.reached(NodeStep.STATE_WRITTEN);
        Files.move(next, path, StandardCopyOption.ATOMIC_MOVE);
        watch.reached(NodeStep.STATE_MOVED);
        syncFolder(parent(path));
    }

    void remove(Path path) throws IOException {
        if (Files.deleteIfExists(path)) {
            syncFolder(parent(path));
        }
    }

    /** The folder that a path of ours lies in; there always is one. */
    static Path parent(Path path) {
        return Objects.requireNonNull(path.toAbsolutePath().getParent());
    }

    /** Makes durable the age of a file. */
    void syncFile(Path path) throws IOException {
        if (sync == FilePieceStore.Sync.DURABLE) {
            try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
                channel.force(true);
            }
        }
    }

    /** Makes durable which names a folder has. */
    void syncFolder(Path folder) throws IOException {
        if (sync == FilePieceStore.Sync.DURABLE) {
            try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
                channel.force(true);
            }
        }
    }
}
