package io.holdfast.slab;

import java.util.ArrayList;
import java.util.List;

/**
 * What a walk through every page, chain and queue of a cache found.
 *
 * @param problems what disagrees, the first hundred of each shard; empty if all counts agree
 */
public record AuditReport(long items, long itemBytes, int usedPages, int freePages, List<String> problems) {

    /** The reports of all shards as one. */
    static AuditReport of(List<AuditReport> shards) {
        if (shards.size() == 1) {
            return shards.getFirst();
        }
        List<String> problems = new ArrayList<>();
        for (int i = 0; i < shards.size(); i++) {
            for (String problem : shards.get(i).problems()) {
                problems.add("shard " + i + ": " + problem);
            }
        }
        return new AuditReport(
                shards.stream().mapToLong(AuditReport::items).sum(),
                shards.stream().mapToLong(AuditReport::itemBytes).sum(),
                shards.stream().mapToInt(AuditReport::usedPages).sum(),
                shards.stream().mapToInt(AuditReport::freePages).sum(),
                List.copyOf(problems));
    }

    public boolean isClean() {
        return problems.isEmpty();
    }
}
