package io.holdfast.redis.graph;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A leased hold on one value: while it is open, the value and everything that it holds are there. It renews itself until
 * {@link #close()}, which releases. If this process dies, the lease lapses.
 */
public sealed class Hold implements AutoCloseable permits Snapshot {

    private final ValueGraph graph;
    private final ValueId target;
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile GraphLease lease;

    Hold(ValueGraph graph, ValueId target, GraphLease lease) {
        this.graph = graph;
        this.target = target;
        this.lease = lease;
    }

    /** The value that is held. */
    public ValueId target() {
        return target;
    }

    /** Whether the value is still surely held: on the monotonic clock, before the server would let it lapse. */
    public boolean isValid() {
        return !closed.get() && lease.isValid();
    }

    GraphLease lease() {
        return lease;
    }

    /** A lost lease was replaced by a new one on the same value. */
    void continueUnder(GraphLease other) {
        lease = other;
    }

    boolean isClosed() {
        return closed.get();
    }

    ValueGraph graph() {
        return graph;
    }

    /** Releases. A second call does nothing; if Redis cannot be reached, the lease lapses instead. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            graph.release(this);
        }
    }
}
