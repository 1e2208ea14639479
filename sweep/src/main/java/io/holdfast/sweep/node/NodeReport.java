package io.holdfast.sweep.node;

import io.holdfast.ReclaimSummary;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * What a node found in a cycle, and did.
 *
 * @param digest of the filter, in hexadecimal digits
 * @param wouldTrash what the examination found to be garbage
 * @param wouldTrashBytes their size
 * @param trashed what was moved to the trash; zero for an examination
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
        String detail) {

    public NodeReport {
        EnumMap<SpareReason, Long> copy = new EnumMap<>(SpareReason.class);
        copy.putAll(spared);
        spared = Collections.unmodifiableMap(copy);
    }

    public long spared(SpareReason reason) {
        return spared.getOrDefault(reason, 0L);
    }

    public ReclaimSummary summary() {
        long kept = spared.values().stream().mapToLong(Long::longValue).sum();
        return new ReclaimSummary(examined, trashed, kept, failed);
    }
}
