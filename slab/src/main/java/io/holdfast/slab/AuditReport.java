package io.holdfast.slab;

import java.util.List;

/**
 * What a walk through every page, chain and queue of a region found.
 *
 * @param problems what disagrees, the first hundred; empty if all counts agree
 */
public record AuditReport(long items, long itemBytes, int usedPages, int freePages, List<String> problems) {

    public boolean isClean() {
        return problems.isEmpty();
    }
}
