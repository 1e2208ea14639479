package io.holdfast.sweep.cycle;

import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.node.Suspect;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.PieceId;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Asks the snapshot of a cycle about pieces in the trash that its filter answers to. One that it knows is live and was trashed
 * by mistake: it is brought back, and a person is told. One that it does not know passed the filter by chance and stays for
 * the next cycle to judge.
 *
 * <p>All questions are put together, as a catalogue may have to be read once more for them. They are bounded; of each node as
 * many are asked as fit beside those of the others, another part of them in another cycle.
 */
public final class TrashJudge {

    /** What is not asked stays in the trash, where nothing is deleted that a filter answers to. */
    static final int QUESTIONS_MOST = 20_000;

    /** Brings a piece back; false if it is not in the trash any more. */
    @FunctionalInterface
    public interface Rescue {
        boolean back(Suspect suspect) throws Exception;
    }

    private final Map<NodeId, Set<PieceId>> questions = new HashMap<>();
    private Map<NodeId, Set<PieceId>> known = Map.of();

    /** Notes a question. */
    public void ask(NodeId node, Collection<PieceId> ids) {
        if (!ids.isEmpty()) {
            questions.computeIfAbsent(node, n -> new LinkedHashSet<>()).addAll(ids);
        }
    }

    /** Puts the questions to the snapshot. */
    public void answer(Catalogue.Snapshot snapshot, long random) throws Exception {
        if (!questions.isEmpty()) {
            known = snapshot.known(fit(random));
        }
    }

    /** Those with few questions first: what they leave of their share is for the others. */
    private Map<NodeId, Set<PieceId>> fit(long random) {
        List<Map.Entry<NodeId, Set<PieceId>>> nodes = questions.entrySet().stream()
                .sorted(Comparator.comparingInt(node -> node.getValue().size()))
                .toList();
        Map<NodeId, Set<PieceId>> fit = new HashMap<>();
        int left = QUESTIONS_MOST;
        for (int i = 0; i < nodes.size(); i++) {
            Set<PieceId> all = nodes.get(i).getValue();
            int share = Math.min(all.size(), left / (nodes.size() - i));
            left -= share;
            fit.put(nodes.get(i).getKey(), from((int) Long.remainderUnsigned(random, all.size()), share, all));
        }
        return fit;
    }

    private static Set<PieceId> from(int first, int count, Set<PieceId> all) {
        List<PieceId> ring = List.copyOf(all);
        Set<PieceId> some = new LinkedHashSet<>();
        for (int i = 0; i < count; i++) {
            some.add(ring.get((first + i) % ring.size()));
        }
        return some;
    }

    /** Whether the snapshot has a piece that was asked about. */
    public boolean knows(NodeId node, PieceId id) {
        return known.getOrDefault(node, Set.of()).contains(id);
    }

    /** Returns what a person must be told, in one line; empty if no suspect is live. */
    public String judge(NodeId node, List<Suspect> suspects, Rescue rescue) throws InterruptedException {
        int live = 0;
        int back = 0;
        Suspect first = null;
        String failure = "";
        for (Suspect suspect : suspects) {
            if (!knows(node, suspect.id())) {
                continue;
            }
            live++;
            first = first == null ? suspect : first;
            // A node that cannot do it once is not asked again: each call may take its whole deadline.
            if (failure.isEmpty()) {
                switch (Heard.of(() -> rescue.back(suspect))) {
                    case Heard.Said<Boolean> said -> back += said.value() ? 1 : 0;
                    case Heard.Failed<Boolean> failed -> failure = "; not all could be: " + failed.why();
                }
            }
        }
        return first == null
                ? ""
                : live + " live pieces lay in the trash of node " + node + " and " + back
                        + " were brought back; the first is " + first.id() + ", trashed by cycle " + first.cycle()
                        + failure;
    }

    /** What a person must be told of trashed pieces that were read; empty if none of them is live. */
    public String read(NodeId node, List<Suspect> pieces) {
        List<Suspect> live =
                pieces.stream().filter(piece -> knows(node, piece.id())).toList();
        return live.isEmpty()
                ? ""
                : live.size() + " trashed pieces of node " + node
                        + " were read, are back, and the catalogue knows them; the first is "
                        + live.getFirst().id() + ", trashed by cycle "
                        + live.getFirst().cycle();
    }
}
