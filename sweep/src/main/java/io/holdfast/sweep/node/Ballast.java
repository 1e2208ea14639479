package io.holdfast.sweep.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Room that is kept for the books: a file that is given up when the disk is full, so that the node can still write down that
 * it restores and empties, which frees room. It is made again when there is room.
 */
final class Ballast {

    private static final int BYTES = 1 << 20;

    private final Path file;

    Ballast(Path state) {
        this.file = state.resolve("ballast");
    }

    /** Makes it if it is not there and there is room. */
    void keep() {
        try {
            if (!Files.exists(file)) {
                Files.write(file, new byte[BYTES]);
            }
        } catch (IOException e) {
            drop();
        }
    }

    /** Gives the room up; whether there was any. */
    boolean drop() {
        try {
            return Files.deleteIfExists(file);
        } catch (IOException e) {
            return false;
        }
    }
}
