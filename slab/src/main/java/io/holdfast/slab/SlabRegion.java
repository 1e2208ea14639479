package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A file that this JVM has mapped. Opened twice in one JVM it is one region, since the region's lock tells processes
 * apart and not threads.
 *
 * <p>When the last cache on it is closed the region is given up: nobody gets in any more. It is unmapped by the collector,
 * once no thread can be in the middle of a call: {@link Memory} does not ask at each access whether it may still be used.
 */
final class SlabRegion {

    private static final Map<Object, SlabRegion> OPEN = new HashMap<>();

    final SlabStore store;
    private final Object fileKey;
    private int users;

    private SlabRegion(SlabStore store, Object fileKey) {
        this.store = store;
        this.fileKey = fileKey;
    }

    static SlabRegion open(
            Path path, @Nullable SlabLayout wanted, Host host, Time time, Probe probe, long patienceNanos) {
        synchronized (OPEN) {
            try {
                SlabFile.Mapped mapped = new SlabFile(path, host).open(wanted, time.millis());
                if (mapped == null) {
                    throw new HoldfastException(
                            Category.GONE, "there is no cache " + path, "check the path, or create the cache", null);
                }
                Object fileKey = Objects.requireNonNull(
                        Files.readAttributes(path, java.nio.file.attribute.BasicFileAttributes.class)
                                .fileKey());
                SlabRegion region = OPEN.get(fileKey);
                if (region == null) {
                    SlabStore store = new SlabStore(
                            new Memory(mapped.segment()),
                            mapped.layout(),
                            mapped.hashSeed(),
                            host,
                            time,
                            probe,
                            patienceNanos);
                    store.attach();
                    region = new SlabRegion(store, fileKey);
                    OPEN.put(fileKey, region);
                }
                region.users++;
                return region;
            } catch (IOException e) {
                throw new HoldfastException(Category.RETRY, "the cache " + path + " vanished while it was opened", e);
            }
        }
    }

    void close() {
        synchronized (OPEN) {
            if (--users == 0) {
                OPEN.remove(fileKey);
                store.detach();
            }
        }
    }
}
