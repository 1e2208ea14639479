package io.holdfast.redis.hold;

import java.time.Duration;
import java.util.List;

/**
 * How one instance treats the things of a set. Instances may differ, for instance while a new setting is rolled out.
 *
 * @param lease how long an instance's holds outlive its last sign of life
 * @param grace from the last release to the close; in an idle set: from the last activity
 * @param claim how long a claim runs unless renewed
 * @param failuresMax after so many failures that handlers reported, a claim becomes a dead letter
 * @param overlap whether a new life of a thing may begin before the earlier one is finished
 * @param ledgerCapacity how many records a shard's ledger keeps
 * @param noted what is noted in {@code meta} when this instance starts, name and value by turns, for those that find an
 *     instance dead: {@code grace} in milliseconds, and what the kind of thing has beside it. An instance that serves nothing
 *     itself, but tends what others serve, notes nothing: it goes by what they have noted.
 */
public record HoldRules(
        Duration lease,
        Duration grace,
        Duration claim,
        int failuresMax,
        boolean overlap,
        int ledgerCapacity,
        List<String> noted) {

    /** A claim that ran out so often without a result becomes a dead letter. */
    static final int LAPSES_MAX = 20;

    /** Earlier lives of one thing that may wait to be finished; one digit of its record. */
    static final int UNFINISHED_MAX = 9;

    int unfinishedMax() {
        return overlap ? UNFINISHED_MAX : 1;
    }
}
