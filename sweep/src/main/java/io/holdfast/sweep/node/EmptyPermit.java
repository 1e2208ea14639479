package io.holdfast.sweep.node;

import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.time.Duration;
import java.time.Instant;

/** Leave to empty the trash of one owner on one node, given while no alarm stands and good for an hour. */
public record EmptyPermit(NodeId node, OwnerId owner, Instant issuedAt) {

    public static final Duration VALID_FOR = Duration.ofHours(1);

    boolean isValid(NodeId onNode, Instant now) {
        return node.equals(onNode) && Duration.between(issuedAt, now).abs().compareTo(VALID_FOR) <= 0;
    }
}
