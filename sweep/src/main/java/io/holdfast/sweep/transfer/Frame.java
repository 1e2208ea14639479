package io.holdfast.sweep.transfer;

import io.holdfast.HoldfastException;
import java.util.List;

/**
 * What travels at once: batches of one or more nodes.
 *
 * @param number from 1 and without gaps within a session; frames are applied in this order
 */
public record Frame(SessionKey session, long number, List<NodeBatch> batches) {

    /** The most fingerprints in a frame. */
    public static final int FINGERPRINTS_MAX = 64 * 1024;

    private static final int OVERHEAD_BYTES = 64;

    public Frame {
        batches = List.copyOf(batches);
        long fingerprints = batches.stream().mapToLong(NodeBatch::count).sum();
        if (number < 1 || batches.isEmpty() || fingerprints > FINGERPRINTS_MAX) {
            throw HoldfastException.misuse(
                    "frame " + number + " with " + fingerprints + " fingerprints",
                    "number frames from 1, with 1 to " + FINGERPRINTS_MAX + " fingerprints each");
        }
    }

    /** What it takes in memory, about. */
    public long bytes() {
        return batches.stream()
                .mapToLong(batch -> OVERHEAD_BYTES + (long) batch.fingerprints().length * Long.BYTES)
                .sum();
    }

    public long pieces() {
        return batches.stream().mapToLong(NodeBatch::count).sum();
    }
}
