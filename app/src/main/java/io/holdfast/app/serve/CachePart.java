package io.holdfast.app.serve;

import io.holdfast.DutyRunner;
import io.holdfast.DutyRunner.Assignment;
import io.holdfast.slab.SlabCache;
import io.holdfast.slab.SlabStats;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Takes back the room of lapsed values in one slab cache. */
final class CachePart extends Part {

    private final Path file;
    private final DutyRunner duties;
    private final DaemonMeters meters;
    private @Nullable SlabCache cache;
    private @Nullable Assignment reclaiming;

    CachePart(Path file, DutyRunner duties, DaemonMeters meters) {
        super("cache " + file);
        this.file = file;
        this.duties = duties;
        this.meters = meters;
    }

    @Override
    void start() {
        SlabCache opened = SlabCache.attach(file);
        reclaiming = duties.add(opened.reclaimDuty());
        meters.bind(new SlabMeters(file.getFileName().toString(), opened));
        cache = opened;
    }

    @Override
    String look() {
        SlabCache open = cache;
        if (open == null) {
            return "";
        }
        SlabStats now = open.stats();
        return now.items() + " values, " + now.itemBytes() + " bytes";
    }

    @Override
    void stop() {
        closeQuietly(reclaiming);
        closeQuietly(cache);
    }
}
