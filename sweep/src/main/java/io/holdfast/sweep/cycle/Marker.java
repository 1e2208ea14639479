package io.holdfast.sweep.cycle;

import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.retain.Built;
import java.time.Instant;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;

/**
 * Builds the live filters of a cycle from its snapshot, wherever that is done: in this process, or by workers. What a marker
 * hands over is proved, as far as its way of building needs proof. Numbering, signing, delivery, the fleet's limit and the
 * release are the cycle's, the same for each marker.
 */
public interface Marker {

    /**
     * A node that wants a filter.
     *
     * @param pieces how many rows the snapshot counts for it
     * @param trash who answers for its oldest trash: an independent filter is to confirm it
     * @param refused whose filters it is said to refuse
     */
    record Wish(NodeId node, int idBytes, long pieces, FilterGeometry geometry, Built trash, Set<String> refused) {}

    /**
     * What became of the wishes.
     *
     * @param filters that are built and proved
     * @param missing why others are not; they may be wished for again
     * @param hopeless why some will not be in this cycle
     */
    record Outcome(Map<NodeId, Marked> filters, Map<NodeId, String> missing, Map<NodeId, String> hopeless) {}

    /**
     * Builds what is wished for. The first attempt reads the whole snapshot, a later one only the nodes that are wished for
     * again. Throws if the snapshot cannot be vouched for, which ends the cycle.
     */
    Outcome mark(Counted catalogue, SortedMap<NodeId, Wish> wishes, int attempt) throws Exception;

    /** Up to when the snapshot speaks, which is known after the first attempt. */
    Instant cutoff();

    /** How many can be asked to build: the word of one is believed only if there is no other. */
    int buildersAtHand();
}
