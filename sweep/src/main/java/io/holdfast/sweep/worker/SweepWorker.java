package io.holdfast.sweep.worker;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.Manifest;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.SessionStart;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Builds filters and hands over those that are signed.
 *
 * <h2>What it promises</h2>
 *
 * <ul>
 *   <li>Its memory is known in advance: a session says what its filters take before the first piece comes, and one that
 *       does not fit is refused with the number.
 *   <li>What it has of a node is everything, in order, or it says so: numbers without gaps, the count, and a sum that
 *       the manager compares with its own.
 *   <li>It delivers a filter only with a manifest that a manager's key signed over exactly this filter.
 * </ul>
 *
 * <h2>How it stays true</h2>
 *
 * Nothing is written to disk. A worker that dies is forgotten with all it had, and its nodes are built again elsewhere
 * under another attempt. A session of a later manager or cycle drops the earlier ones; what arrives for those is
 * answered GONE and changes nothing.
 */
public class SweepWorker {

    /** Sends a filter to its node. */
    @FunctionalInterface
    public interface Delivery {
        void retain(String address, Signed manifest, LiveFilter filter);
    }

    private final long incarnation;
    private final long filterMemory;
    private final KeyRing ring;
    private final Delivery delivery;
    private final Time time;
    private final TreeMap<SessionKey, BuildSession> sessions = new TreeMap<>();

    public SweepWorker(long incarnation, long filterMemory, KeyRing ring, Delivery delivery, Time time) {
        this.incarnation = incarnation;
        this.filterMemory = filterMemory;
        this.ring = ring;
        this.delivery = delivery;
        this.time = time;
    }

    public long incarnation() {
        return incarnation;
    }

    public long filterMemory() {
        return filterMemory;
    }

    public synchronized long filterMemoryUsed() {
        return sessions.values().stream().mapToLong(BuildSession::filterBytes).sum();
    }

    /** Makes the empty filters of a session. The same start again is nothing new. */
    public synchronized void start(SessionStart start) {
        SessionKey key = start.key();
        BuildSession known = sessions.get(key);
        if (known != null) {
            if (!known.start().equals(start)) {
                throw HoldfastException.misuse(
                        key + " was started with other nodes", "start another attempt for other nodes");
            }
            return;
        }
        SessionKey later = sessions.higherKey(key);
        if (later != null && later.owner().equals(key.owner())) {
            throw new HoldfastException(
                    Category.GONE, key + " comes after " + later, "this manager has lost the cycle", null);
        }
        sessions.keySet().removeIf(other -> other.owner().equals(key.owner()) && !other.sameCycle(key));
        long needed = start.filterBytes();
        long used = filterMemoryUsed();
        if (used + needed > filterMemory) {
            throw new HoldfastException(
                    Category.FULL,
                    "the filters of " + start.nodes().size() + " nodes need " + needed + " bytes; free are "
                            + (filterMemory - used) + " of " + filterMemory,
                    "give the worker " + (used + needed) + " bytes (--memory), or add workers",
                    null);
        }
        sessions.put(key, open(start));
    }

    BuildSession open(SessionStart start) {
        return new BuildSession(start);
    }

    public synchronized BuildSession session(SessionKey key) {
        BuildSession session = find(key);
        if (session == null) {
            throw new HoldfastException(
                    Category.GONE,
                    "this worker knows no " + key,
                    "it was restarted, or a later manager took the cycle: give its nodes to others",
                    null);
        }
        return session;
    }

    @org.jspecify.annotations.Nullable
    BuildSession find(SessionKey key) {
        return sessions.get(key);
    }

    /** All sessions, the latest last; a test mixes them up. */
    final SortedMap<SessionKey, BuildSession> sessions() {
        return sessions;
    }

    public synchronized void drop(SessionKey key) {
        sessions.remove(key);
    }

    /**
     * Sends a node its filter, if the manifest is signed and is about exactly this filter. Answers what the node said
     * if it did not take it.
     */
    public Optional<HoldfastException> deliver(SessionKey key, NodeId node, String address, Signed signed) {
        BuildSession session = session(key);
        Manifest manifest = Manifest.decode(signed.text());
        ring.verify(signed, manifest.keyId(), KeyRing.Role.MANAGER, time.instant());
        LiveFilter filter = session.filter(node)
                .orElseThrow(() -> HoldfastException.misuse(
                        "there is no whole filter of node " + node + " in " + key, "end the session first"));
        boolean mine = manifest.node().equals(node)
                && manifest.owner().equals(session.start().owner())
                && manifest.cycle() == key.cycle()
                && manifest.attempt() == key.attempt()
                && session.digest(node).filter(manifest.digest()::equals).isPresent();
        if (!mine) {
            throw HoldfastException.misuse(
                    "the manifest is about another filter: " + manifest, "sign what the worker reported");
        }
        try {
            delivery.retain(address, signed, filter);
            return Optional.empty();
        } catch (HoldfastException e) {
            return Optional.of(e);
        }
    }
}
