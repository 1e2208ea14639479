package io.holdfast.app.cache;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Table;
import io.holdfast.slab.SlabInspector;
import io.holdfast.slab.SlabStats;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;

/** Counts of the whole cache, of each slot in use and of each process. */
@Command(
        name = "stats",
        description = "Show what a cache holds and what it did: the whole, each slot in use, each process.",
        footer = {
            "  holdfast cache stats /dev/shm/pages",
            "  holdfast cache stats /dev/shm/pages --json",
        })
final class StatsCommand extends LookCommand {

    @Override
    Answer run(SlabInspector cache, Console console) {
        SlabStats stats = cache.stats();
        Answer answer = Answer.ok();
        summary(cache, stats).forEach(answer::line);
        locks(cache, stats).forEach(answer::line);
        answer.line("");
        return answer.field("file", cache.file().toString())
                .field("preset", stats.preset())
                .field("fileBytes", stats.fileBytes())
                .field("shards", stats.shards())
                .field("pageBytes", stats.pageBytes())
                .field("pages", stats.pages())
                .field("freePages", stats.freePages())
                .field("items", stats.items())
                .field("itemBytes", stats.itemBytes())
                .field("hits", stats.hits())
                .field("misses", stats.misses())
                .field("hitRatio", stats.hitRatio())
                .field("stored", stats.stored())
                .field("evicted", stats.evicted())
                .field("removed", stats.removed())
                .field("pageMoves", stats.pageMoves())
                .field("longestHold", stats.longestHold())
                .field("thisBoot", cache.isOfThisBoot())
                .field(
                        "lockHolders",
                        cache.lockHolders().stream()
                                .map(SlabInspector.LockHolder::pid)
                                .toList())
                .field("thefts", stats.thefts())
                .field("repairs", stats.repairs())
                .field("salvages", stats.salvages())
                .field("namespaces", stats.namespaces())
                .table("slots", slots(stats))
                .line("")
                .table("processes", processes(stats));
    }

    static List<String> summary(SlabInspector cache, SlabStats stats) {
        return List.of(
                String.format(
                        Locale.ROOT,
                        "%s: %s, %,d bytes in %d shards, %d of %d pages of %d KiB free",
                        cache.file(),
                        stats.preset().name().toLowerCase(Locale.ROOT),
                        stats.fileBytes(),
                        stats.shards(),
                        stats.freePages(),
                        stats.pages(),
                        stats.pageBytes() / 1024),
                String.format(
                        Locale.ROOT,
                        "%,d values, %,d bytes; %,d hits, %,d misses (%.1f %%)",
                        stats.items(),
                        stats.itemBytes(),
                        stats.hits(),
                        stats.misses(),
                        100 * stats.hitRatio()),
                String.format(
                        Locale.ROOT,
                        "%,d stored, %,d evicted, %,d removed, %,d pages moved; longest lock hold %,d us",
                        stats.stored(),
                        stats.evicted(),
                        stats.removed(),
                        stats.pageMoves(),
                        stats.longestHold().toNanos() / 1000),
                String.format(
                        Locale.ROOT,
                        "%d locks taken from the dead, %d repairs, %d salvages",
                        stats.thefts(),
                        stats.repairs(),
                        stats.salvages()));
    }

    private static List<String> locks(SlabInspector cache, SlabStats stats) {
        if (!cache.isOfThisBoot()) {
            return List.of(
                    "written before this boot, or on another machine: who opens it next replaces it by an empty one");
        }
        List<String> held = cache.lockHolders().stream()
                .map(holder -> "the lock of shard " + holder.shard() + state(holder))
                .toList();
        return held.isEmpty() ? List.of(stats.shards() == 1 ? "the lock is free" : "all locks are free") : held;
    }

    private static String state(SlabInspector.LockHolder holder) {
        if (holder.pid() == 0) {
            return " was left by a call that failed: the next put repairs";
        }
        return holder.alive()
                ? " is held by process " + holder.pid() + "; if it stays so, look whether it is stopped"
                : " was held by process " + holder.pid() + ", which is dead: the next put repairs";
    }

    static Table slots(SlabStats stats) {
        Table table = Table.of("slot", "chunk", "pages", "values", "bytes", "hits", "stored", "evicted", "returned");
        for (SlabStats.Slot slot : stats.slots()) {
            if (slot.pages() > 0 || slot.stored() > 0) {
                table.row(
                        slot.number(),
                        slot.chunkBytes(),
                        slot.pages(),
                        slot.items(),
                        slot.bytes(),
                        slot.hits(),
                        slot.stored(),
                        slot.evicted(),
                        slot.returned());
            }
        }
        return table;
    }

    private static Table processes(SlabStats stats) {
        Table table = Table.of("process", "alive", "since", "hits", "misses", "stored", "removed");
        for (SlabStats.AttachedProcess process : stats.processes()) {
            table.row(
                    process.pid(),
                    process.alive() ? "yes" : "no",
                    process.since(),
                    process.hits(),
                    process.misses(),
                    process.stored(),
                    process.removed());
        }
        return table;
    }
}
