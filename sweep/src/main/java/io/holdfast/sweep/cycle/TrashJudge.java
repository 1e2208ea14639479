package io.holdfast.sweep.cycle;

import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.node.Suspect;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.PieceId;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Asks the snapshot of a cycle about pieces in the trash that were read, or that its filter answers to. One that it knows is
 * live and was trashed by mistake: it is brought back, and a person is told. One that it does not know passed the filter by
 * chance and stays for the next cycle to judge.
 *
 * <p>All questions are put together, as a catalogue may have to be read once more for them. They are bounded; of each node as
 * many are asked as fit beside those of the others, another part of them in another cycle.
 */
public final class TrashJudge {

    /** What is not asked stays in the trash, where nothing is deleted that a filter answers to. */
    static final int QUESTIONS_MOST = 20_000;

    /** A node with something in its trash that may be live. */
    public interface Accused {

        NodeId node();

        /** Pieces that were read in the trash, and are back. */
        List<Suspect> read();

        /** Pieces in the trash that the new filter answers to. */
        List<Suspect> suspects();

        /** The catalogue was asked about a piece that was read. */
        void settle(Suspect read) throws Exception;

        /** Brings a piece back; false if it is not in the trash any more. */
        boolean rescue(Suspect suspect) throws Exception;
    }

    private final Map<NodeId, Set<PieceId>> known;

    private TrashJudge(Map<NodeId, Set<PieceId>> known) {
        this.known = known;
    }

    /** Judges the trash of all nodes; returns what a person must be told of each. */
    public static Map<NodeId, List<String>> judge(
            Catalogue.Snapshot snapshot, long random, Collection<? extends Accused> nodes) throws Exception {
        Map<NodeId, Set<PieceId>> questions = new HashMap<>();
        for (Accused node : nodes) {
            Set<PieceId> ids = new LinkedHashSet<>();
            Stream.concat(node.read().stream(), node.suspects().stream())
                    .map(Suspect::id)
                    .forEach(ids::add);
            if (!ids.isEmpty()) {
                questions.put(node.node(), ids);
            }
        }
        TrashJudge judge = new TrashJudge(questions.isEmpty() ? Map.of() : snapshot.known(fit(questions, random)));
        Map<NodeId, List<String>> findings = new TreeMap<>();
        for (Accused node : nodes) {
            List<String> found = new ArrayList<>();
            judge.settle(node, found);
            judge.rescue(node, found);
            if (!found.isEmpty()) {
                findings.put(node.node(), found);
            }
        }
        return findings;
    }

    /** Those with few questions first: what they leave of their share is for the others. */
    private static Map<NodeId, Set<PieceId>> fit(Map<NodeId, Set<PieceId>> questions, long random) {
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

    private List<Suspect> live(Accused node, List<Suspect> pieces) {
        Set<PieceId> here = known.getOrDefault(node.node(), Set.of());
        return pieces.stream().filter(piece -> here.contains(piece.id())).toList();
    }

    private void settle(Accused node, List<String> findings) throws InterruptedException {
        List<Suspect> live = live(node, node.read());
        if (!live.isEmpty()) {
            findings.add(live.size() + " trashed pieces of node " + node.node()
                    + " were read, are back, and the catalogue knows them; the first is "
                    + live.getFirst().id() + ", trashed by cycle "
                    + live.getFirst().cycle());
        }
        for (Suspect read : node.read()) {
            Heard<Boolean> settled = Heard.of(() -> {
                node.settle(read);
                return true;
            });
            // What cannot be settled stands, and is asked about by the next cycle.
            if (settled instanceof Heard.Failed<Boolean>) {
                return;
            }
        }
    }

    private void rescue(Accused node, List<String> findings) throws InterruptedException {
        List<Suspect> live = live(node, node.suspects());
        int back = 0;
        String failure = "";
        for (Suspect suspect : live) {
            switch (Heard.of(() -> node.rescue(suspect))) {
                case Heard.Said<Boolean> said -> back += said.value() ? 1 : 0;
                case Heard.Failed<Boolean> failed -> failure = "; not all could be: " + failed.why();
            }
            // A node that cannot do it once is not asked again: each call may take its whole deadline.
            if (!failure.isEmpty()) {
                break;
            }
        }
        if (!live.isEmpty()) {
            findings.add(live.size() + " live pieces lay in the trash of node " + node.node() + " and " + back
                    + " were brought back; the first is " + live.getFirst().id() + ", trashed by cycle "
                    + live.getFirst().cycle() + failure);
        }
    }
}
