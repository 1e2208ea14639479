package io.holdfast.sweep.manager;

import io.holdfast.sweep.node.NodeAgent;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.Signed;

/** A storage node as the manager sees it. Every call may fail with RETRY and may be repeated. */
public interface NodePort {

    NodeId id();

    /** Where workers reach it. */
    String address();

    NodeProgress progress(OwnerId owner, long cycle);

    NodeAgent.Carried carry(Signed order);
}
