package io.holdfast.sweep.cycle;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.node.Suspect;
import io.holdfast.sweep.piece.NodeId;
import java.util.List;

/**
 * Asks the snapshot of a cycle about pieces in the trash that its filter answers to. One that it knows is live and was trashed
 * by mistake: it is brought back, and a person is told. One that it does not know passed the filter by chance and stays for
 * the next cycle to judge. The questions of a cycle are bounded.
 */
public final class TrashJudge {

    /** What is not asked stays in the trash, where nothing is deleted that a filter answers to. */
    static final int QUESTIONS_MOST = 20_000;

    /** Brings a piece back; false if it is not in the trash any more. */
    @FunctionalInterface
    public interface Rescue {
        boolean back(Suspect suspect) throws Exception;
    }

    private final Catalogue.Snapshot snapshot;
    private int asked;

    public TrashJudge(Catalogue.Snapshot snapshot) {
        this.snapshot = snapshot;
    }

    /** Whether the snapshot has a piece; an id that it cannot have is none that it knows. */
    public boolean knows(NodeId node, byte[] id) throws Exception {
        try {
            return snapshot.contains(node, id);
        } catch (HoldfastException e) {
            if (e.category() == Category.MISUSE) {
                return false;
            }
            throw e;
        }
    }

    /** Returns what a person must be told, in one line; empty if no suspect is live. */
    public String judge(NodeId node, List<Suspect> suspects, Rescue rescue) throws Exception {
        int known = 0;
        int back = 0;
        Suspect first = null;
        String failure = "";
        for (Suspect suspect : suspects) {
            // A node that cannot do it once is not asked again: each call may take its whole deadline.
            if (asked >= QUESTIONS_MOST || !failure.isEmpty()) {
                break;
            }
            asked++;
            if (knows(node, suspect.id().bytes())) {
                known++;
                first = first == null ? suspect : first;
                switch (Heard.of(() -> rescue.back(suspect))) {
                    case Heard.Said<Boolean> said -> back += said.value() ? 1 : 0;
                    case Heard.Failed<Boolean> failed -> failure = "; not all could be: " + failed.why();
                }
            }
        }
        return first == null
                ? ""
                : known + " live pieces lay in the trash of node " + node + " and " + back
                        + " were brought back; the first is " + first.id() + ", trashed by cycle " + first.cycle()
                        + failure;
    }
}
