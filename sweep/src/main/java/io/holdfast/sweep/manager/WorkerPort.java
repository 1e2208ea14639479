package io.holdfast.sweep.manager;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.transfer.Frame;
import io.holdfast.sweep.transfer.FrameReply;
import io.holdfast.sweep.transfer.NodeBuilt;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.SessionStart;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A worker as the manager sees it. Every call may fail with RETRY (it cannot be reached, or its answer was lost: the call
 * may have happened) and may be repeated; GONE means that the worker does not know the session and never will again.
 */
public interface WorkerPort {

    String address();

    /**
     * The host that an operator named it by; empty if it registered by itself. A host that is named can be taken over, but not
     * be two: what one host built another confirms.
     */
    default String host() {
        return "";
    }

    /**
     * What a worker could take on, and who it is.
     *
     * @param identity what it proved: the subject of its certificate, or the id of its key; empty if nothing. An address is
     *     no proof: one host has as many as it likes
     */
    record Pong(long incarnation, long filterMemory, long filterMemoryUsed, String identity) {}

    Pong ping();

    void start(SessionStart start);

    /** Opens a stream of frames. Replies come from any thread. */
    Link open(SessionKey session, Replies replies);

    /** A stream of frames to a worker; sending does not wait. */
    interface Link extends AutoCloseable {
        void send(Frame frame);

        @Override
        void close();
    }

    /** What comes back on a stream. */
    interface Replies {
        void reply(FrameReply reply);

        /** Nothing more will come: the worker or the way to it is gone. */
        void broken(HoldfastException why);
    }

    List<NodeBuilt> end(SessionKey session, Map<NodeId, Long> endings);

    /**
     * Lets the worker send a filter to its node. Throws if the worker could not be asked or does not have the filter;
     * answers what the node said if it did not take it.
     */
    Optional<HoldfastException> deliver(SessionKey session, NodeId node, String nodeAddress, Signed manifest);

    void drop(SessionKey session);
}
