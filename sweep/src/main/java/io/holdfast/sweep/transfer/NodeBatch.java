package io.holdfast.sweep.transfer;

import io.holdfast.HoldfastException;

/**
 * Some pieces of one node, one after the other in its sequence.
 *
 * @param ordinal which node of the session
 * @param firstSequence the number of the first piece, from 1 and without gaps, node by node
 * @param fingerprints two longs a piece, high half first
 */
public record NodeBatch(int ordinal, long firstSequence, long[] fingerprints) {

    public NodeBatch {
        if (ordinal < 0 || firstSequence < 1 || fingerprints.length == 0 || fingerprints.length % 2 != 0) {
            throw HoldfastException.misuse(
                    "a batch of " + fingerprints.length + " longs from " + firstSequence + " for node " + ordinal,
                    "send whole fingerprints, numbered from 1");
        }
    }

    public int count() {
        return fingerprints.length / 2;
    }

    public long lastSequence() {
        return firstSequence + count() - 1;
    }
}
