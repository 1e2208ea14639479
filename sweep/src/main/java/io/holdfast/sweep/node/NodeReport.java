package io.holdfast.sweep.node;

import io.holdfast.ReclaimSummary;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * What a node found in a cycle, and did.
 *
 * @param digest of the filter, in hexadecimal digits
 * @param wouldTrash what the examination found to be garbage
 * @param wouldTrashBytes their size
 * @param trashed what was moved to the trash; zero for an examination
 * @param suspects pieces in the trash that the filter answers to: live, or by chance
 * @param failed what could not be moved; it is where it was
 * @param detail one line for people
 */
public record NodeReport(
        NodeId node,
        OwnerId owner,
        long cycle,
        String digest,
        Verdict verdict,
        long examined,
        Map<SpareReason, Long> spared,
        long wouldTrash,
        long wouldTrashBytes,
        long trashed,
        long trashedBytes,
        long failed,
        List<Suspect> suspects,
        String detail) {

    public NodeReport {
        suspects = List.copyOf(suspects);
        EnumMap<SpareReason, Long> copy = new EnumMap<>(SpareReason.class);
        copy.putAll(spared);
        spared = Collections.unmodifiableMap(copy);
    }

    /** Nothing was walked, let alone trashed: the verdict stands in the way. */
    public boolean isHeldBack() {
        return spared.isEmpty() && trashed == 0 && verdict != Verdict.READY;
    }

    public long spared(SpareReason reason) {
        return spared.getOrDefault(reason, 0L);
    }

    public ReclaimSummary summary() {
        long kept = spared.values().stream().mapToLong(Long::longValue).sum();
        return new ReclaimSummary(examined, trashed, kept, failed);
    }
}
