package io.holdfast.redis.graph;

import io.holdfast.HoldfastException;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A hold on what a root named at one moment, and the way to read it: all of it stays, whatever becomes of the root. A
 * read that ends after the lease may have lapsed is refused with LAPSED, so that what is read is always whole. With a near
 * cache, what was reached from the target by way of {@link #children} or {@link #walk} is read through it.
 */
public final class Snapshot extends Hold {

    private final String root;
    private final CachedReads reads;

    Snapshot(ValueGraph graph, String root, ValueId target, GraphLease lease) {
        super(graph, target, lease);
        this.root = root;
        this.reads = graph.readsUnder(this);
    }

    /** The root it was taken of. */
    public String root() {
        return root;
    }

    public byte[] get(ValueId id) {
        return checked(reads.get(id));
    }

    public Map<ValueId, byte[]> getAll(List<ValueId> ids) {
        return checked(reads.getAll(ids));
    }

    public List<ValueId> children(ValueId id) {
        return checked(reads.children(id));
    }

    Map<ValueId, List<ValueId>> childrenOfAll(List<ValueId> ids) {
        return checked(graph().reader().childrenOfAll(ids));
    }

    /** All values below and including the target, parents before children, each once; read as the stream is. */
    public Stream<ValueId> walk() {
        return graph().reader().walk(target(), this::check).peek(reads::covers);
    }

    private <T> T checked(T read) {
        check();
        return read;
    }

    private void check() {
        if (isClosed()) {
            throw HoldfastException.misuse("the snapshot of " + root + " is closed", "open a new one");
        }
        lease().check();
    }
}
