package io.holdfast.app.cache;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.AtLeastOne;
import io.holdfast.app.cli.Console;
import io.holdfast.slab.SlabInspector;
import io.holdfast.slab.SlabStats;
import java.time.Duration;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** A line per interval. */
@Command(
        name = "watch",
        description = "Show a line of what changed in a cache, again and again.",
        footer = {
            "  holdfast cache watch /dev/shm/pages",
            "  holdfast cache watch /dev/shm/pages --every 5s --times 12",
        })
final class WatchCommand extends LookCommand {

    private static final int LINES_PER_HEADING = 20;

    @Option(names = "--every", paramLabel = "TIME", description = "How long between two lines (default: 1s).")
    private Duration every = Duration.ofSeconds(1);

    @Option(
            names = "--times",
            converter = AtLeastOne.class,
            paramLabel = "N",
            description = "How many lines (default: until stopped).")
    private int times = Integer.MAX_VALUE;

    @Override
    Answer run(SlabInspector cache, Console console) throws InterruptedException {
        SlabStats before = cache.stats();
        for (int i = 0; i < times; i++) {
            if (i % LINES_PER_HEADING == 0) {
                console.show(String.format(
                        "%12s %12s %7s %10s %10s %7s %12s %9s",
                        "hits", "misses", "ratio", "stored", "evicted", "moves", "values", "free"));
            }
            Thread.sleep(every);
            SlabStats now = cache.stats();
            long hits = now.hits() - before.hits();
            long misses = now.misses() - before.misses();
            console.show(String.format(
                    Locale.ROOT,
                    "%12d %12d %7.3f %10d %10d %7d %12d %9d",
                    hits,
                    misses,
                    hits + misses == 0 ? 0 : (double) hits / (hits + misses),
                    now.stored() - before.stored(),
                    now.evicted() - before.evicted(),
                    now.pageMoves() - before.pageMoves(),
                    now.items(),
                    now.freePages()));
            before = now;
        }
        return Answer.ok().field("values", before.items()).field("hitRatio", before.hitRatio());
    }
}
