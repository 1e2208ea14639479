package io.holdfast.redis.graph.write;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.graph.store.Batch;
import io.holdfast.redis.graph.store.GraphContext;
import io.holdfast.redis.graph.store.Lease;
import io.holdfast.redis.graph.store.LeaseKeeper;
import io.holdfast.redis.graph.store.Place;
import io.holdfast.redis.graph.store.RootChange;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Puts values under a lease of its own. Values gather in a {@link Batch}; one call puts it. The lease holds what has no
 * parent yet, until a parent or a root takes that hold over, or the writer releases it or is closed.
 *
 * <p><b>A call that got no answer is repeated as it was</b>, with the same batch and the same number, so that a repeat
 * finds what the first one did. Until it is answered, nothing else is put.
 *
 * <p><b>A child that is not there fails its own parent</b> and those that need that: they are left out, the rest of the
 * batch is put, and {@link #flush} says which values failed.
 *
 * <p>Thread-safe.
 */
public final class Writer implements AutoCloseable {

    private static final int BYTES_MAX = 512 << 10;

    /** A batch on its way, and the root that is to name a value of it. */
    private record Sent(Batch batch, RootChange change, String version) {}

    private static final RootChange NO_CHANGE = new RootChange("", "", null, false);

    private final GraphContext graph;
    private final Duration length;
    private final ReentrantLock lock = new ReentrantLock();
    /** What the lease holds, as far as this writer knows; read without the lock. */
    private final Set<Place> held = ConcurrentHashMap.newKeySet();

    private final Set<Place> failed = new TreeSet<>();
    private @Nullable Lease lease;
    private long sequence;
    private Batch batch;
    private @Nullable Sent sent;
    private boolean lost;
    private boolean closed;

    public Writer(GraphContext graph, Duration length) {
        this.graph = graph;
        this.length = length;
        this.batch = new Batch(graph.names().next());
    }

    /**
     * Puts a node, as it is stored, at the latest with the next {@link #flush}.
     *
     * @param node its kind and bytes
     * @throws HoldfastException RETRY if an earlier batch cannot be put; LAPSED if the lease is lost
     */
    public Place put(byte[] node, List<Place> children) {
        for (Place child : children) {
            if (!child.segment().equals(segment())) {
                graph.send(child); // a batch of another writer, or one of this writer that is full
            }
        }
        return locked(() -> {
            check();
            if (!batch.takes(children) || (batch.size() > 0 && batch.bytes() + node.length > BYTES_MAX)) {
                sendAll(NO_CHANGE, "");
            }
            Place place = batch.add(node, children, new byte[0], held);
            graph.unsent().putIfAbsent(batch.segment(), this::send);
            return place;
        });
    }

    private String segment() {
        return locked(() -> batch.segment());
    }

    /**
     * Puts what is left to be put.
     *
     * @throws HoldfastException GONE if a value put since the last flush needed a child that is not there
     */
    public void flush() {
        locked(() -> {
            check();
            sendAll(NO_CHANGE, "");
            if (!failed.isEmpty()) {
                String values = failed.toString();
                failed.clear();
                throw new HoldfastException(
                        Category.GONE, "values " + values + " were not put: they have children that are not there");
            }
            return true;
        });
    }

    /** Puts what is left to be put; what failed is told by {@link #flush}. */
    private void send() {
        locked(() -> {
            if (!closed && !lost) {
                sendAll(NO_CHANGE, "");
            }
            return true;
        });
    }

    /**
     * Lets a root name a value that is still to be put, in the same call.
     *
     * @return whether the root names it; false: the value was put, and the root is left to do
     */
    public boolean putAndName(RootChange change, String version) {
        return locked(() -> {
            if (closed || lost) {
                return false;
            }
            Place target = change.target();
            if (target == null
                    || !target.segment().equals(batch.segment())
                    || !batch.tops().contains(target)) {
                return false;
            }
            return sendAll(change, version);
        });
    }

    /** Whether the lease holds this value. */
    public boolean holds(Place place) {
        return held.contains(place);
    }

    /**
     * Makes a call that may take over the lease's hold on a value, if the lease has one. Whether it was taken over is
     * not known if the call fails: then the writer hands it over no more, and gives it up when it is closed.
     *
     * @param call what is called with the lease's name, empty if it does not hold the value; answers whether it took it
     *     over
     */
    public boolean handOver(Place place, Function<String, Boolean> call) {
        return locked(() -> {
            Lease own = lease;
            if (own == null || lost || !held.remove(place)) {
                return call.apply("");
            }
            boolean taken = call.apply(own.name());
            if (!taken) {
                held.add(place);
            }
            return taken;
        });
    }

    /** Gives up values that no parent and no root has taken over. */
    public void release(List<Place> places) {
        locked(() -> {
            check();
            sendAll(NO_CHANGE, "");
            Lease own = lease;
            List<Place> mine = places.stream().filter(held::remove).toList();
            if (own != null && !mine.isEmpty()) {
                LeaseKeeper.repeated(() -> graph.store().release(own.name(), mine));
                graph.wake().run();
            }
            return true;
        });
    }

    /** Sends what is on its way, then what has gathered; answers whether the root was named. */
    private boolean sendAll(RootChange change, String version) {
        if (sent != null) {
            sendOne();
        }
        if (batch.size() == 0) {
            return false;
        }
        sent = new Sent(batch, change, version);
        batch = new Batch(graph.names().next());
        return sendOne();
    }

    private boolean sendOne() {
        Lease own = lease();
        while (sent != null) {
            Sent it = sent;
            long number = sequence + 1;
            List<String> answer = LeaseKeeper.repeated(
                    () -> graph.store().put(own.name(), number, it.batch(), it.change(), it.version()));
            switch (answer.getFirst()) {
                case "OK" -> {
                    sequence = number;
                    return settle(it, answer.get(1).equals("1"));
                }
                case "GONE" -> {
                    sequence = number;
                    leaveOut(it, answer.subList(1, answer.size()));
                }
                case "TAKEN" ->
                    throw new HoldfastException(
                            Category.RETRY,
                            "segment " + it.batch().segment() + " is there from a torn call, and is being erased");
                default -> {
                    lost = true;
                    throw own.lapsed();
                }
            }
        }
        return false;
    }

    private boolean settle(Sent it, boolean named) {
        held.addAll(it.batch().tops());
        Place target = it.change().target();
        if (named && target != null) {
            held.remove(target);
            graph.wake().run();
        }
        graph.unsent().remove(it.batch().segment());
        sent = null;
        return named;
    }

    /** What needs a missing child is not put; the rest goes on under the same name. */
    private void leaveOut(Sent it, List<String> ids) {
        Set<Place> missing = new HashSet<>();
        ids.forEach(id -> missing.add(Place.parse(id)));
        Set<Place> asked = Set.copyOf(missing);
        held.removeAll(asked);
        Batch rest = it.batch().without(missing, held);
        held.removeAll(asked);
        missing.stream().filter(place -> place.segment().equals(rest.segment())).forEach(failed::add);
        if (rest.isEmpty()) {
            graph.unsent().remove(rest.segment());
            sent = null;
            return;
        }
        Place target = it.change().target();
        boolean keepsRoot = target != null && !missing.contains(target);
        sent = new Sent(rest, keepsRoot ? it.change() : NO_CHANGE, it.version());
    }

    private Lease lease() {
        Lease own = lease;
        if (own == null) {
            own = graph.leases().take(length, null);
            lease = own;
            graph.leases().keep(own, () -> {
                lost = true;
                return Optional.empty();
            });
        }
        return own;
    }

    private void check() {
        if (closed) {
            throw HoldfastException.misuse("the writer of graph " + graph.name() + " is closed", "open a new one");
        }
        Lease own = lease;
        if (lost && own != null) {
            throw own.lapsed();
        }
    }

    /** Puts what is left, and gives up what no parent and no root has taken over. */
    @Override
    public void close() {
        lock.lock();
        try {
            if (closed) {
                return;
            }
            try {
                if (!lost) {
                    sendAll(NO_CHANGE, "");
                }
            } finally {
                closed = true;
                graph.unsent().remove(batch.segment());
                if (sent != null) {
                    graph.unsent().remove(sent.batch().segment());
                }
                end();
            }
        } finally {
            lock.unlock();
        }
    }

    private void end() {
        Lease own = lease;
        if (own != null) {
            graph.leases().forget(own);
            LeaseKeeper.repeated(() -> {
                graph.leases().end(own);
                return true;
            });
            graph.wake().run();
        }
    }

    private interface Locked<T> {
        T run();
    }

    private <T> T locked(Locked<T> action) {
        lock.lock();
        try {
            return action.run();
        } finally {
            lock.unlock();
        }
    }
}
