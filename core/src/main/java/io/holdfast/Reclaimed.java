package io.holdfast;

import java.time.Instant;
import java.util.List;

/**
 * The record of one reclaim: what is gone, why, on what evidence, when, and who did it. Roots, leases, sessions,
 * aggregates and pieces have a record each; the values of a graph share one record per step of a cascade.
 *
 * @param space the graph, set or storage node that the things belonged to
 * @param ids what was reclaimed, at least one
 * @param evidence what made it reclaimable, for people: the root that was dropped, the lease that lapsed, the cycle
 * @param at the store's time
 * @param by the instance that did it
 */
public record Reclaimed(
        ThingId.Kind kind,
        String space,
        List<String> ids,
        ReclaimReason reason,
        String evidence,
        Instant at,
        HolderId by) {

    public Reclaimed {
        ids = List.copyOf(ids);
        if (ids.isEmpty()) {
            throw HoldfastException.misuse("a reclaim record without ids", "name what was reclaimed");
        }
    }

    /** Whether this record tells of the given thing. */
    public boolean tellsOf(ThingId thing) {
        return thing.kind() == kind && thing.space().equals(space) && ids.contains(thing.id());
    }
}
