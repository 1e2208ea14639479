package io.holdfast.redis.graph;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * What a verify found. Every finding is exact: it is about something that did not change from the beginning to the end,
 * so that what was read of it at different moments belongs together. What did change is not judged.
 *
 * @param values values that were looked at
 * @param edges edges that were counted
 * @param unjudged values and leases that changed meanwhile
 * @param voided why there is no verdict at all; empty if there is one
 * @param counts how many findings there are of each kind that has some
 * @param findings the findings themselves; of very many the first ten thousand
 * @param bytesPerValue the memory that the verifier used for each value, about
 */
public record VerifyReport(
        long values,
        long edges,
        long unjudged,
        String voided,
        Map<Finding.Kind, Long> counts,
        List<Finding> findings,
        Duration took,
        double bytesPerValue) {

    /** Whether there is no verdict: what was read may belong to different moments. */
    public boolean isVoid() {
        return !voided.isEmpty();
    }

    /** Whether there is a verdict, and nothing was found. */
    public boolean isSound() {
        return !isVoid() && counts.isEmpty();
    }

    /** How many findings there are. */
    public long total() {
        return counts.values().stream().mapToLong(Long::longValue).sum();
    }
}
