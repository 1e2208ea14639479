package io.holdfast.sweep.manager;

import io.holdfast.Time;
import io.holdfast.sweep.node.Suspect;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.Manifest;
import io.holdfast.sweep.retain.Order;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.retain.SigningKey;
import java.time.Duration;
import java.time.Instant;

/** Signs what goes to nodes, with one key. */
public final class Orders {

    private static final Duration VALID_FOR = Duration.ofMinutes(50);

    private final SigningKey key;
    private final Time time;

    public Orders(SigningKey key, Time time) {
        this.key = key;
        this.time = time;
    }

    public String keyId() {
        return key.id();
    }

    Signed sign(Manifest manifest) {
        return key.sign(manifest.encode());
    }

    /** An order for one node about one cycle. */
    public Signed order(
            Order.Kind kind, OwnerId owner, NodeId node, long cycle, String digest, long count, String detail) {
        Instant now = time.instant();
        return key.sign(new Order(kind, owner, node, cycle, digest, count, now, now.plus(VALID_FOR), detail, key.id())
                .encode());
    }

    /** Lets a node bring back a piece from its trash; returns how many it brought. */
    long rescue(NodePort node, OwnerId owner, Suspect suspect) {
        return node.carry(order(
                        Order.Kind.RESCUE,
                        owner,
                        node.id(),
                        suspect.cycle(),
                        "",
                        0,
                        suspect.id().toString()))
                .count();
    }

    void endAlarm(NodePort node, OwnerId owner, Suspect read) {
        node.carry(order(
                Order.Kind.END_ALARM,
                owner,
                node.id(),
                read.cycle(),
                "",
                0,
                read.id().toString()));
    }
}
