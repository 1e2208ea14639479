package io.holdfast.sweep.worker;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.filter.FilterFormat;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.transfer.Frame;
import io.holdfast.sweep.transfer.FrameReply;
import io.holdfast.sweep.transfer.NodeBatch;
import io.holdfast.sweep.transfer.NodeBuilt;
import io.holdfast.sweep.transfer.NodeToBuild;
import io.holdfast.sweep.transfer.ReceiveWindow;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.SessionStart;
import io.holdfast.sweep.transfer.Tally;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The filters of one session while they grow. Frames are applied once and in order; within a node, each batch must begin
 * where the last one ended. A node whose numbers do not fit is broken for this session: it has a problem instead of a
 * digest, and no filter of it leaves.
 */
public class BuildSession {

    private static final int EARLY_FRAMES_MAX = 64;

    private final SessionStart start;
    private final ReceiveWindow window = new ReceiveWindow(EARLY_FRAMES_MAX);
    private final Building[] nodes;
    private final Map<NodeId, Building> byName = new HashMap<>();
    private List<NodeBuilt> built = List.of();

    /** One node. */
    private static final class Building {
        private final NodeToBuild node;
        private final LiveFilter filter;
        private final Tally tally;
        private long last;
        private long fresh;
        private String problem = "";
        private @Nullable NodeBuilt built;

        Building(NodeToBuild node, LiveFilter filter, Tally tally) {
            this.node = node;
            this.filter = filter;
            this.tally = tally;
        }

        void add(BuildSession session, NodeBatch batch) {
            if (batch.firstSequence() != last + 1) {
                if (problem.isEmpty()) {
                    problem = "piece " + (last + 1) + " was due and " + batch.firstSequence() + " came";
                }
                return;
            }
            last = batch.lastSequence();
            tally.add(batch.fingerprints(), 0, batch.fingerprints().length);
            fresh += session.insert(filter, batch.fingerprints());
        }
    }

    BuildSession(SessionStart start) {
        this.start = start;
        this.nodes = new Building[start.nodes().size()];
        for (int i = 0; i < nodes.length; i++) {
            NodeToBuild node = start.nodes().get(i);
            nodes[i] = new Building(node, LiveFilter.empty(node.geometry(), start.seed()), tally(start.keys()));
            byName.put(node.node(), nodes[i]);
        }
    }

    Tally tally(Tally.Keys keys) {
        return new Tally(keys);
    }

    /** A test lies here, and sees that it is found out. */
    int insert(LiveFilter filter, long[] fingerprints) {
        return filter.addAll(fingerprints, 0, fingerprints.length);
    }

    /** Here too. */
    String digest(LiveFilter filter) {
        return FilterFormat.digestText(filter);
    }

    SessionStart start() {
        return start;
    }

    long filterBytes() {
        return start.filterBytes();
    }

    /** Takes a frame and answers how far the session is. */
    public synchronized FrameReply take(Frame frame) {
        if (!belongs(frame.session())) {
            throw gone(frame.session());
        }
        for (Frame ready : window.take(frame)) {
            if (built.isEmpty()) {
                ready.batches().forEach(this::add);
            }
        }
        return window.reply();
    }

    boolean belongs(SessionKey session) {
        return session.equals(start.key());
    }

    private HoldfastException gone(SessionKey session) {
        return new HoldfastException(
                Category.GONE, "the frame is of " + session + ", this is " + start.key(), "start a session", null);
    }

    private void add(NodeBatch batch) {
        if (batch.ordinal() >= nodes.length) {
            throw HoldfastException.misuse(
                    "a batch for node " + batch.ordinal() + " of " + nodes.length, "number the nodes of the session");
        }
        nodes[batch.ordinal()].add(this, batch);
    }

    /** One piece, as the original protocol has it; a repeat is nothing new, a gap is an error at once. */
    public synchronized void add(NodeId node, long sequence, long high, long low) {
        Building building = named(node);
        if (sequence <= building.last) {
            return;
        }
        if (sequence > building.last + 1) {
            throw HoldfastException.misuse(
                    "piece " + sequence + " of node " + node + " came and " + (building.last + 1) + " is missing",
                    "send the missing pieces first");
        }
        building.add(this, new NodeBatch(0, sequence, new long[] {high, low}));
    }

    private Building named(NodeId node) {
        Building building = byName.get(node);
        if (building == null) {
            throw HoldfastException.misuse(
                    "node " + node + " is not part of " + start.key(), "name a node of the session");
        }
        return building;
    }

    /** No more pieces. Tells what is there of each node; asked again, it answers the same. */
    public synchronized List<NodeBuilt> end(Map<NodeId, Long> endings) {
        if (built.isEmpty()) {
            List<NodeBuilt> all = new ArrayList<>();
            for (Building node : nodes) {
                NodeBuilt one = built(node, endings.getOrDefault(node.node.node(), -1L));
                node.built = one;
                all.add(one);
            }
            built = all;
        }
        return built;
    }

    private NodeBuilt built(Building node, long ending) {
        String problem = node.problem;
        if (problem.isEmpty() && ending != node.last) {
            problem = "the last piece is " + node.last + " here and " + ending + " there";
        }
        return new NodeBuilt(
                node.node.node(), node.tally.sum(), node.fresh, problem.isEmpty() ? digest(node.filter) : "", problem);
    }

    /** The filter of a node, after the session ended and if it is whole. */
    public synchronized Optional<LiveFilter> filter(NodeId node) {
        return whole(node).map(one -> named(node).filter);
    }

    /** The digest that was answered for a node. */
    public synchronized Optional<String> digest(NodeId node) {
        return whole(node).map(NodeBuilt::digest);
    }

    private Optional<NodeBuilt> whole(NodeId node) {
        return Optional.ofNullable(byName.get(node))
                .flatMap(building -> Optional.ofNullable(building.built))
                .filter(NodeBuilt::isWhole);
    }

    /** How many frames wait for one that is missing. */
    synchronized int early() {
        return window.kept();
    }
}
