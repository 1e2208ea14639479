package io.holdfast.sweep.catalogue;

import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.io.IOException;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Knows every live piece of one owner. What it does not name in a scan that ended well is garbage, so a catalogue must
 * fail rather than leave something out: any exception aborts the cycle, and no filter leaves.
 *
 * <p>Writing one takes an {@link #owner} and a {@link Snapshot} with three methods; see docs/sweep.md.
 */
public interface Catalogue {

    OwnerId owner();

    /** Freezes one view of the catalogue, which every range, the counts and every repeated scan will see. */
    Snapshot open() throws Exception;

    /** One view of the catalogue, the same for every call until it is closed. Calls may come from several threads. */
    interface Snapshot extends AutoCloseable {

        /** The catalogue's clock, read before the view was frozen. What was created later is not in the view. */
        Instant takenAt();

        /** Names this life of the catalogue: another one, such as a restored backup, has another text. */
        String incarnation();

        /** In how many ranges the view can be read side by side. */
        default int ranges() {
            return 1;
        }

        /** Hands over every piece of a range, then returns. The ranges together hand over every piece. */
        void scan(int range, PieceSink sink) throws Exception;

        /** Hands over the pieces of a range that lie on some nodes; for reading those once more. */
        default void scan(int range, Set<NodeId> nodes, PieceSink sink) throws Exception {
            scan(range, (node, id, created) -> {
                if (nodes.contains(node)) {
                    sink.piece(node, id, created);
                }
            });
        }

        /** How many pieces each node has, if that is cheaper to tell than to scan; exact, or not at all. */
        default Optional<Map<NodeId, Long>> counts() throws Exception {
            return Optional.empty();
        }

        /** Those of some pieces that the view has. Reads all of it once; a catalogue with an index looks them up. */
        default Map<NodeId, Set<PieceId>> known(Map<NodeId, Set<PieceId>> asked) throws Exception {
            Map<NodeId, Set<PieceId>> known = new HashMap<>();
            for (int range = 0; range < ranges(); range++) {
                scan(range, asked.keySet(), (node, id, created) -> {
                    PieceId piece = PieceId.of(id);
                    if (asked.getOrDefault(node, Set.of()).contains(piece)) {
                        known.computeIfAbsent(node, n -> new HashSet<>()).add(piece);
                    }
                });
            }
            return known;
        }

        /** Whether the view has this piece. */
        default boolean contains(NodeId node, byte[] id) throws Exception {
            return !known(Map.of(node, Set.of(PieceId.of(id)))).isEmpty();
        }

        /** Throws if the view can no longer be vouched for: the connection behind it is lost, the file was changed. */
        default void check() throws Exception {}

        @Override
        default void close() throws IOException {}
    }

    /** Takes the pieces of a scan, one by one, on the thread that scans. */
    @FunctionalInterface
    interface PieceSink {

        /**
         * A live piece.
         *
         * @param id 1 to 64 bytes; the array is the catalogue's again after the call
         * @param createdMillis when the catalogue learned of it, milliseconds of the epoch, by the catalogue's clock
         */
        void piece(NodeId node, byte[] id, long createdMillis) throws Exception;
    }
}
