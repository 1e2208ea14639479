package io.holdfast.slab;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * What a cache holds and what it did, at about one moment.
 *
 * @param shards parts of the file with a lock of their own; figures are of all of them, and so not of one moment
 * @param itemBytes headers, keys and values
 * @param version the highest that was given
 * @param valuesGone values that lapsed or were cleared and whose room was taken back
 * @param mostEvictedByAPut the most values that one put has evicted
 * @param longestHold the longest that a lock was held, of one hold in eight; audits are left out
 * @param thefts how often the lock of a dead process was taken
 * @param repairs how often an unfinished mutation was undone
 * @param salvages how often the tables had to be rebuilt from the values
 * @param dropped values that a salvage could not keep
 */
public record SlabStats(
        Preset preset,
        Policy policy,
        long fileBytes,
        int shards,
        int pageBytes,
        int pages,
        int freePages,
        long items,
        long itemBytes,
        long version,
        long hits,
        long misses,
        long stored,
        long removed,
        long evicted,
        long valuesGone,
        long pageMoves,
        long mostEvictedByAPut,
        Duration longestHold,
        long thefts,
        long repairs,
        long salvages,
        long dropped,
        List<String> namespaces,
        List<Slot> slots,
        List<AttachedProcess> processes) {

    /** Hits in all reads; 0 if there were none. */
    public double hitRatio() {
        return hits + misses == 0 ? 0 : (double) hits / (hits + misses);
    }

    /** The part of the file that does not hold headers, keys and values, while no page is free. */
    public double overhead() {
        return 1 - (double) itemBytes / (fileBytes - (long) freePages * pageBytes);
    }

    /**
     * One slot.
     *
     * @param chunkBytes size of a chunk; of the largest value for slots of page runs
     * @param run whether its values take runs of pages
     * @param hits gets of its values, estimated from one in 64
     * @param returned values stored again soon after they were evicted from here
     */
    public record Slot(
            int number,
            long chunkBytes,
            boolean run,
            long items,
            long mainItems,
            long bytes,
            long pages,
            long hits,
            long stored,
            long evicted,
            long returned,
            long pagesTaken,
            long pagesGiven) {

        /** The same slot of two shards. */
        Slot plus(Slot other) {
            return new Slot(
                    number,
                    chunkBytes,
                    run,
                    items + other.items,
                    mainItems + other.mainItems,
                    bytes + other.bytes,
                    pages + other.pages,
                    hits + other.hits,
                    stored + other.stored,
                    evicted + other.evicted,
                    returned + other.returned,
                    pagesTaken + other.pagesTaken,
                    pagesGiven + other.pagesGiven);
        }
    }

    /** A process that has the cache open, or had it and died. */
    public record AttachedProcess(
            long pid, boolean alive, Instant since, long hits, long misses, long stored, long removed) {

        /** The same process in two shards. */
        AttachedProcess plus(AttachedProcess other) {
            return new AttachedProcess(
                    pid,
                    alive,
                    since,
                    hits + other.hits,
                    misses + other.misses,
                    stored + other.stored,
                    removed + other.removed);
        }
    }
}
