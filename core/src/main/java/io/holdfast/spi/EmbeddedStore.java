package io.holdfast.spi;

import java.net.URI;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A store that this process starts for itself. {@code holdfast-embedded} on the class path brings one. */
public interface EmbeddedStore {

    /**
     * Starts a store and returns when it answers.
     *
     * @param dataFolder where its data outlives it; {@code null}: the data is gone when it stops
     */
    Running start(@Nullable Path dataFolder);

    /** A store that runs until it is closed, and no longer than this process. */
    interface Running extends AutoCloseable {

        /** Where it listens: on this host only. */
        URI uri();

        /** Stops it, with its data safe in the data folder if it has one. A second call does nothing. */
        @Override
        void close();
    }
}
