package io.holdfast.sweep.transfer;

import io.holdfast.sweep.piece.NodeId;

/**
 * What a worker has of a node at the end of a session. By the digest it commits itself to the filter's bytes before it
 * learns what they will be tried with.
 *
 * @param distinctLeast at least so many different ids
 * @param digest of the filter, in hexadecimal digits; empty if its pieces are not whole
 * @param problem why they are not; empty if they are
 */
public record NodeBuilt(NodeId node, Tally.Sum sum, long distinctLeast, String digest, String problem) {

    public boolean isWhole() {
        return problem.isEmpty() && !digest.isEmpty();
    }
}
