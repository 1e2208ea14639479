package io.holdfast.sweep.manager;

import io.holdfast.sweep.piece.OwnerId;
import java.io.IOException;
import java.util.Optional;

/**
 * Where the log of cycles is kept: one text an owner, changed only by comparing and setting. In a file for managers on one
 * host, in Redis for managers on several.
 */
public interface CycleStore {

    Optional<String> read(OwnerId owner) throws IOException;

    /** Sets the text if it still is what was read; false if somebody else was faster. */
    boolean compareAndSet(OwnerId owner, Optional<String> expected, String next) throws IOException;
}
