package io.holdfast.slab;

import io.holdfast.Time;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashMap;
import java.util.Map;
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

    final Shards shards;
    private final Object fileKey;
    private int users;

    private SlabRegion(Shards shards, Object fileKey) {
        this.shards = shards;
        this.fileKey = fileKey;
    }

    static SlabRegion open(
            Path path, @Nullable SlabLayout wanted, Host host, Time time, Probe probe, long patienceNanos) {
        synchronized (OPEN) {
            SlabRegion open = OPEN.get(fileKey(path));
            if (open == null) {
                SlabFile.Mapped mapped = new SlabFile(path, host).open(wanted, time.millis());
                if (mapped == null) {
                    throw SlabFile.absent(path);
                }
                Shards shards = new Shards(
                        Shards.cut(mapped.segment(), mapped.layout(), Memory::new),
                        mapped.layout(),
                        mapped.hashSeed(),
                        mapped.life(),
                        time,
                        probe,
                        patienceNanos);
                shards.attach();
                open = new SlabRegion(shards, mapped.fileKey());
                OPEN.put(mapped.fileKey(), open);
            }
            open.users++;
            return open;
        }
    }

    private static Object fileKey(Path path) {
        try {
            Object key = Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                    .fileKey();
            return key == null ? path : key;
        } catch (IOException e) {
            return path; // is in no map
        }
    }

    void close() {
        synchronized (OPEN) {
            if (--users == 0) {
                OPEN.remove(fileKey);
                shards.detach();
            }
        }
    }
}
