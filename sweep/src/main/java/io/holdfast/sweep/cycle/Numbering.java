package io.holdfast.sweep.cycle;

import io.holdfast.sweep.piece.NodeId;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Which number the next cycle gets. It must be above the last that any node took, and a node may be lying: so what nodes say
 * is believed up to {@value #SLACK} above the log of cycles, or above what half of all nodes say if the log was lost. A node
 * that does not answer says nothing: a liar must not be believed because the others are away. A node beyond that takes no part.
 *
 * @param atLeast the lowest number that is new to every node that takes part
 * @param beyond nodes that claim a number which cannot have been given out
 */
public record Numbering(long atLeast, Set<NodeId> beyond) {

    /** Cycles in one process are numbered by the nodes alone, so these may be ahead of the log. */
    static final long SLACK = 1024;

    public Numbering {
        beyond = Set.copyOf(beyond);
    }

    /** @param nodes how many nodes there are, also those that do not answer */
    public static Numbering of(long logged, Map<NodeId, Long> lasts, int nodes) {
        long[] sorted = new long[Math.max(nodes, lasts.size())];
        int at = 0;
        for (long last : lasts.values()) {
            sorted[at++] = last;
        }
        Arrays.sort(sorted);
        long median = sorted.length == 0 ? 0 : sorted[(sorted.length - 1) / 2];
        long base = Math.max(logged, median);
        long most = base > Long.MAX_VALUE - SLACK ? Long.MAX_VALUE : base + SLACK;
        Set<NodeId> beyond = new TreeSet<>();
        long highest = 0;
        for (Map.Entry<NodeId, Long> last : lasts.entrySet()) {
            if (last.getValue() > most) {
                beyond.add(last.getKey());
            } else {
                highest = Math.max(highest, last.getValue());
            }
        }
        return new Numbering(highest + 1, beyond);
    }
}
