package io.holdfast.sweep.manager;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.catalogue.FingerprintScan;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.transfer.NodeBatch;
import io.holdfast.sweep.transfer.NodeBuilt;
import io.holdfast.sweep.transfer.NodeToBuild;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.SessionStart;
import io.holdfast.sweep.transfer.Tally;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/**
 * One attempt at some nodes: they are given to workers, scanned, and what the workers have is compared with what was
 * sent. Nodes whose worker was lost on the way are left for the next attempt.
 */
final class Attempt {

    private final FleetCycle cycle;
    private final SessionKey key;
    private final Map<NodeId, Lane> lanes = new HashMap<>();
    /** Read by whoever watches, so it is replaced as a whole. */
    private volatile Map<Outbox, Assignment.Share> shares = Map.of();

    Attempt(FleetCycle cycle, SessionKey key) {
        this.cycle = cycle;
        this.key = key;
    }

    /** What goes to the builders of one node: the same pieces under the same numbers. */
    private static final class Lane implements FingerprintScan.Target {
        private final NodeRun node;
        private final Tally tally;
        private final List<Outbox> ways = new ArrayList<>();
        private final List<Integer> ordinals = new ArrayList<>();
        private long last;

        Lane(NodeRun node, Tally tally) {
            this.node = node;
            this.tally = tally;
        }

        @Override
        public int idBytes() {
            return node.idBytes;
        }

        @Override
        public synchronized void take(long[] batch, int to) throws InterruptedException {
            if (isLost()) {
                return;
            }
            long[] mine = Arrays.copyOf(batch, to);
            tally.add(mine, 0, to);
            node.sample.add(mine, to);
            for (int i = 0; i < ways.size(); i++) {
                ways.get(i).send(new NodeBatch(ordinals.get(i), last + 1, mine));
            }
            last += to / 2;
        }

        boolean isLost() {
            for (Outbox way : ways) {
                if (!way.givenUp().isEmpty()) {
                    return true;
                }
            }
            return false;
        }

        String whyLost() {
            for (Outbox way : ways) {
                if (!way.givenUp().isEmpty()) {
                    return "worker " + way.worker().address() + " was lost: " + way.givenUp();
                }
            }
            return "";
        }
    }

    Map<NodeId, ? extends FingerprintScan.Target> targets() {
        return lanes;
    }

    Map<Outbox, Assignment.Share> shares() {
        return shares;
    }

    /** Gives the nodes to workers. A worker that cannot take its share is out; its nodes wait for the next attempt. */
    void start(List<WorkerPort> workers, SortedMap<NodeId, NodeRun> nodes, ScanThreads callers) throws Exception {
        TreeMap<NodeId, Long> counts = new TreeMap<>();
        nodes.forEach((id, node) -> {
            counts.put(id, node.pieces);
            node.attempt = key.attempt();
            lanes.put(id, new Lane(node, cycle.parts().tally(cycle.keys())));
        });
        List<Assignment.Share> all = Assignment.of(counts, workers.size(), cycle.builders());
        long windowBytes = Math.max(1, cycle.windowMemory() / all.size());
        Map<Outbox, Assignment.Share> given = new LinkedHashMap<>();
        List<Callable<Boolean>> starts = new ArrayList<>();
        for (Assignment.Share share : all) {
            WorkerPort worker = workers.get(share.worker());
            Outbox outbox = new Outbox(
                    worker,
                    key,
                    cycle.parts().window(key, windowBytes, cycle.time().nanoTime()),
                    cycle.parts().framePieces(),
                    cycle.workerPatience(),
                    cycle.pause(),
                    cycle.time());
            given.put(outbox, share);
            List<NodeToBuild> toBuild = new ArrayList<>();
            for (NodeId id : share.nodes()) {
                NodeRun node = nodes.get(id);
                Lane lane = lanes.get(id);
                if (node == null || lane == null) {
                    throw new IllegalStateException("a share of unknown node " + id);
                }
                lane.ways.add(outbox);
                lane.ordinals.add(toBuild.size());
                toBuild.add(new NodeToBuild(id, node.geometry));
            }
            SessionStart start = new SessionStart(key, cycle.owner(), cycle.seed(), cycle.keys(), toBuild);
            starts.add(() -> start(outbox, start));
        }
        shares = given;
        callers.all(starts);
    }

    /** Also empty filters take their time, where they are large. */
    private boolean start(Outbox outbox, SessionStart start) throws InterruptedException {
        try {
            cycle.persist(outbox, () -> {
                outbox.worker().start(start);
                return true;
            });
            outbox.open();
            return true;
        } catch (HoldfastException e) {
            outbox.giveUp("" + e.getMessage());
            return false;
        }
    }

    /** The scan is over: ends the sessions, and settles each node as agreed, refused, or lost. */
    void end(ScanThreads callers) throws Exception {
        List<Callable<List<NodeBuilt>>> ends = new ArrayList<>();
        shares.forEach((outbox, share) -> ends.add(() -> end(outbox, share)));
        Map<NodeId, List<NodeBuilt>> built = new HashMap<>();
        for (List<NodeBuilt> ofWorker : callers.all(ends)) {
            ofWorker.forEach(one ->
                    built.computeIfAbsent(one.node(), node -> new ArrayList<>()).add(one));
        }
        for (Lane lane : lanes.values()) {
            settle(lane, built.getOrDefault(lane.node.id(), List.of()));
        }
    }

    /** What the worker has of its share; nothing if it was given up. It computes the digests of all its filters now. */
    private List<NodeBuilt> end(Outbox outbox, Assignment.Share share) throws InterruptedException {
        if (!outbox.finish()) {
            return List.of();
        }
        Map<NodeId, Long> endings = new HashMap<>();
        for (NodeId id : share.nodes()) {
            Lane lane = lanes.get(id);
            endings.put(id, lane == null ? -1 : lane.last);
        }
        try {
            return cycle.persist(outbox, () -> outbox.worker().end(key, endings)).stream()
                    .filter(one -> endings.containsKey(one.node()))
                    .toList();
        } catch (HoldfastException e) {
            outbox.giveUp("" + e.getMessage());
            return List.of();
        }
    }

    private void settle(Lane lane, List<NodeBuilt> built) throws Exception {
        NodeRun node = lane.node;
        if (lane.isLost() || built.size() != lane.ways.size()) {
            node.detail = lane.isLost() ? lane.whyLost() : "a worker did not tell of it";
            return;
        }
        String why = cycle.parts().comparison().disagreement(lane.tally.sum(), node.sample.distinctAbout(), built);
        if (!why.isEmpty()) {
            List<String> who =
                    lane.ways.stream().map(way -> way.worker().address()).toList();
            node.fail(why);
            cycle.alarm("node " + node.id() + ", cycle " + key.cycle() + ", worker " + who + ": " + why);
            return;
        }
        node.built = built.getFirst();
        node.session = key;
        node.builders = lane.ways.stream().map(Outbox::worker).toList();
        node.state = NodeRun.State.AGREED;
        node.detail = "";
    }

    /** Nothing of this attempt is wanted any more, whatever became of it. */
    void drop() {
        for (Outbox outbox : shares.keySet()) {
            outbox.close();
            try {
                outbox.worker().drop(key);
            } catch (HoldfastException e) {
                if (e.category() != Category.RETRY && e.category() != Category.GONE) {
                    throw e;
                }
            }
        }
    }
}
