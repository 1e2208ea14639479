package io.holdfast.redis.graph.read;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.graph.store.GraphContext;
import io.holdfast.redis.graph.store.Lease;
import io.holdfast.redis.graph.store.Place;
import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Holds on values for readers. A hold renews itself until it is closed; one that is dropped without close is released
 * when it is collected, and the log says where it was made. A hold for a time is not renewed.
 */
public final class Holds {

    private static final System.Logger LOG = System.getLogger(Holds.class.getName());
    private static final Cleaner CLEANER = Cleaner.create();

    private final GraphContext graph;

    public Holds(GraphContext graph) {
        this.graph = graph;
    }

    /**
     * Holds a value until the hold is closed, or its process has been dead for so long.
     *
     * @throws HoldfastException GONE if it has ended; RETRY if the server does not answer
     */
    public Held hold(Place target, Duration length) {
        graph.send(target);
        Held held = new Held(graph, target, graph.leases().take(length, target));
        held.state.renew();
        return held;
    }

    /** Holds a value for a time, whatever becomes of this process; nobody need close it. */
    public void holdFor(Place target, Duration length) {
        graph.send(target);
        graph.leases().take(length, target);
    }

    /** A value that is held. */
    public static final class Held implements AutoCloseable {

        private final Place target;
        private final State state;
        private final Cleaner.Cleanable cleanable;

        private Held(GraphContext graph, Place target, Lease lease) {
            this.target = target;
            this.state = new State(graph, target, lease);
            this.cleanable = CLEANER.register(this, state);
        }

        public Place target() {
            return target;
        }

        /** Whether it is surely held still: on the monotonic clock, before the server would let it lapse. */
        public boolean isValid() {
            Lease lease = state.lease.get();
            return lease != null && lease.isValid();
        }

        /** Refuses what was read after the hold may have lapsed. */
        public void check() {
            Lease lease = state.lease.get();
            if (lease == null) {
                throw HoldfastException.misuse("the hold on value " + target + " is closed", "open a new one");
            }
            lease.check();
        }

        @Override
        public void close() {
            state.closed = true;
            cleanable.clean();
        }
    }

    /** What a hold that was collected leaves behind. */
    private static final class State implements Runnable {

        private final GraphContext graph;
        private final Place target;
        private final Throwable made = new Throwable("the hold was made here");
        private final AtomicReference<@Nullable Lease> lease;
        private volatile boolean closed;

        State(GraphContext graph, Place target, Lease lease) {
            this.graph = graph;
            this.target = target;
            this.lease = new AtomicReference<>(lease);
        }

        void renew() {
            Lease own = lease.get();
            if (own != null) {
                graph.leases().keep(own, this::replace);
            }
        }

        /** A lease that the server does not know any more: a new one on the same value is as good, if it is there. */
        private Optional<Lease> replace() {
            Lease lost = lease.get();
            if (lost == null) {
                return Optional.empty();
            }
            try {
                Lease next = graph.leases().take(lost.length(), target);
                if (lease.compareAndSet(lost, next)) {
                    return Optional.of(next);
                }
                graph.leases().end(next); // closed meanwhile
            } catch (HoldfastException e) {
                if (e.category() != Category.GONE) {
                    throw e;
                }
            }
            return Optional.empty();
        }

        @Override
        public void run() {
            if (!closed) {
                LOG.log(System.Logger.Level.WARNING, "a hold on value " + target + " was dropped without close", made);
            }
            Lease own = lease.getAndSet(null);
            if (own != null) {
                try {
                    graph.leases().end(own);
                    graph.wake().run();
                } catch (HoldfastException e) {
                    LOG.log(System.Logger.Level.DEBUG, "a hold that was closed lapses instead", e);
                }
            }
        }
    }
}
