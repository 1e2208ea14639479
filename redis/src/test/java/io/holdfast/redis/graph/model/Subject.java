package io.holdfast.redis.graph.model;

import java.util.Collection;
import java.util.Map;
import java.util.Optional;

/** A store of counted values, as the model test drives it: Holdfast's, and as a control the peer's. */
public interface Subject extends AutoCloseable {

    /** Something to hold on to in the store; which of them are over the store decides. */
    interface Lease {}

    /** Starts a process. */
    Client start();

    /** A process that uses the store. Calls throw {@link Lost} when the wire ate them. */
    interface Client {

        Lease writer();

        /** Puts a value; the writer holds it until a parent or a root does. */
        String put(Lease writer, String value, java.util.List<String> children);

        /** The same, as the next version of another value, whose children are thought to be these. */
        default String put(
                Lease writer,
                String value,
                java.util.List<String> children,
                String before,
                java.util.List<String> childrenBefore) {
            return put(writer, value, children);
        }

        void flush(Lease writer);

        void setRoot(String name, String target);

        void dropRoot(String name);

        Lease hold(String target);

        void release(Lease lease);

        /** One step of reclaiming. */
        void step();
    }

    /** The deadline of the lease passes, and nobody has renewed it. */
    void lapse(Lease lease);

    void lapseAll();

    /** The store was just replaced by another, or that is long ago: until then nothing lapses and nothing is freed. */
    default void quiet(boolean on) {}

    /** Steps until nothing is left to do. */
    void drain();

    /** Those of the values that are there. */
    Map<String, String> find(Collection<String> ids);

    Optional<String> rootTarget(String name);

    /** Everything that the store has: id to value. */
    Map<String, String> contents();

    /** What is wrong inside the store when nobody holds anything but the given roots; empty if nothing is. */
    String faultsInside(Map<String, String> roots, Map<String, java.util.List<String>> children);

    /** It is not known whether the call happened. */
    final class Lost extends RuntimeException {
        private static final long serialVersionUID = 1;

        public Lost(Throwable cause) {
            super(cause);
        }
    }

    /** The store refused: what the call needs is gone, or the lease of the caller is. */
    final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1;

        public Refused(Throwable cause) {
            super(cause);
        }
    }

    @Override
    void close();
}
