package io.holdfast.sweep.manager;

import io.holdfast.sweep.transfer.NodeBuilt;
import io.holdfast.sweep.transfer.Tally;
import java.util.List;

/** Whether what the workers have of a node is what they were sent. The one place where a filter is let through. */
class Comparison {

    /** A filter answers to more than half of its ids for the first time, even at the highest rate that may be promised. */
    private static final int DISTINCT_SHARE = 2;

    /** The estimate is off by a third once in millions, and exact for few ids. */
    private static final double ESTIMATE_OFF = 4.0 / 3;

    /** So many different ids there are for certain, by the manager's own estimate, whatever a worker claims. */
    static long distinctCertain(long distinctAbout) {
        return distinctAbout - distinctAbout / 4;
    }

    /** Why the node gets no filter; empty if all agree. */
    String disagreement(Tally.Sum sent, long distinctAbout, List<NodeBuilt> builders) {
        NodeBuilt first = builders.getFirst();
        for (NodeBuilt built : builders) {
            if (!built.isWhole()) {
                return "the worker's pieces are not whole: " + built.problem();
            }
            if (built.sum().count() != sent.count()) {
                return sent.count() + " pieces were sent and the worker has "
                        + built.sum().count();
            }
            if (!built.sum().equals(sent)) {
                return "the worker has other pieces than were sent: the sums differ";
            }
            boolean tooMany =
                    built.distinctLeast() > sent.count() || built.distinctLeast() > distinctAbout * ESTIMATE_OFF;
            if (tooMany || built.distinctLeast() < distinctAbout / DISTINCT_SHARE) {
                return "the worker says that " + built.distinctLeast() + " of about " + distinctAbout
                        + " pieces are different";
            }
            if (!built.digest().equals(first.digest())) {
                return "the two builders have different filters";
            }
        }
        return "";
    }
}
