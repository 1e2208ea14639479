package io.holdfast.app.wiring;

import io.holdfast.redis.graph.ValueId;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.PieceId;

/**
 * Knows which pieces a value of a graph names. It must fail rather than pass over a value that it does not understand: what
 * no value names is garbage. {@link PieceLeaf} is the form that Holdfast brings along.
 */
@FunctionalInterface
public interface PieceNames {

    /** Takes the pieces that a value names. */
    @FunctionalInterface
    interface Taker {
        void piece(NodeId node, PieceId id) throws Exception;
    }

    void in(ValueId id, byte[] value, Taker taker) throws Exception;
}
