package io.holdfast.sweep.manager;

import com.dynatrace.hash4j.hashing.Hasher64;
import com.dynatrace.hash4j.hashing.Hashing;
import io.holdfast.sweep.catalogue.FingerprintScan;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.cycle.Heard;
import io.holdfast.sweep.cycle.Marked;
import io.holdfast.sweep.cycle.Marker;
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

    private final WorkerMarker marker;
    private final SessionKey key;
    private final Map<NodeId, Lane> lanes = new HashMap<>();
    /** Read by whoever watches, so it is replaced as a whole. */
    private volatile Map<Outbox, Assignment.Share> shares = Map.of();

    Attempt(WorkerMarker marker, SessionKey key) {
        this.marker = marker;
        this.key = key;
    }

    /** What goes to the builders of one node: the same pieces under the same numbers. */
    private static final class Lane implements FingerprintScan.Target {
        private final Marker.Wish wish;
        private final Tally tally;
        private final WitnessSample sample;
        private final List<Outbox> ways = new ArrayList<>();
        private final List<Integer> ordinals = new ArrayList<>();
        private long last;

        private volatile String wrong = "";

        Lane(Marker.Wish wish, Tally tally, WitnessSample sample) {
            this.wish = wish;
            this.tally = tally;
            this.sample = sample;
        }

        /** The node keeps other ids than the catalogue has for it, or says so: it gets no filter, and the others do. */
        @Override
        public void wrongLength(int given) {
            wrong = "the catalogue has an id of " + given + " bytes for it, and it keeps ids of " + wish.idBytes()
                    + " bytes";
        }

        @Override
        public int idBytes() {
            return wish.idBytes();
        }

        @Override
        public synchronized void take(long[] batch, int to) throws InterruptedException {
            if (isLost()) {
                return;
            }
            long[] mine = Arrays.copyOf(batch, to);
            tally.add(mine, 0, to);
            sample.add(mine, to);
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
    void start(List<WorkerPort> workers, SortedMap<NodeId, Marker.Wish> wishes, ScanThreads callers) throws Exception {
        TreeMap<NodeId, Long> counts = new TreeMap<>();
        // Fresh in each attempt: what a worker has read in the manifests of an earlier one is worth nothing.
        Hasher64 witnesses = Hashing.xxh3_64(marker.random());
        wishes.forEach((id, wish) -> {
            counts.put(id, wish.pieces());
            lanes.put(id, new Lane(wish, marker.parts().tally(marker.keys()), new WitnessSample(witnesses)));
        });
        List<Assignment.Share> all = Assignment.of(counts, workers.size(), marker.builders());
        long windowBytes = Math.max(1, marker.windowMemory() / all.size());
        Map<Outbox, Assignment.Share> given = new LinkedHashMap<>();
        List<Callable<Boolean>> starts = new ArrayList<>();
        for (Assignment.Share share : all) {
            WorkerPort worker = workers.get(share.worker());
            Outbox outbox = new Outbox(
                    worker,
                    key,
                    marker.parts().window(key, windowBytes, marker.time().nanoTime()),
                    marker.parts().framePieces(),
                    marker.workerPatience(),
                    marker.pause(),
                    marker.time());
            given.put(outbox, share);
            List<NodeToBuild> toBuild = new ArrayList<>();
            for (NodeId id : share.nodes()) {
                Lane lane = lanes.get(id);
                if (lane == null) {
                    throw new IllegalStateException("a share of unknown node " + id);
                }
                lane.ways.add(outbox);
                lane.ordinals.add(toBuild.size());
                toBuild.add(new NodeToBuild(id, lane.wish.geometry()));
            }
            SessionStart start = new SessionStart(key, marker.seed(), marker.keys(), toBuild);
            starts.add(() -> start(outbox, start));
        }
        shares = given;
        callers.all(starts);
    }

    /** Also empty filters take their time, where they are large. */
    private boolean start(Outbox outbox, SessionStart start) throws InterruptedException {
        Heard<Boolean> started = marker.persist(outbox.worker(), () -> {
            outbox.worker().start(start);
            return true;
        });
        if (started instanceof Heard.Failed<Boolean> failed) {
            outbox.giveUp(failed.why());
            return false;
        }
        outbox.open();
        return true;
    }

    /** The scan is over: ends the sessions, and settles each node as agreed, refused, or lost. */
    Marker.Outcome end(ScanThreads callers) throws Exception {
        List<Callable<List<NodeBuilt>>> ends = new ArrayList<>();
        shares.forEach((outbox, share) -> ends.add(() -> end(outbox, share)));
        Map<Outbox, Map<NodeId, NodeBuilt>> built = new HashMap<>();
        List<List<NodeBuilt>> told = callers.all(ends);
        int next = 0;
        for (Outbox outbox : shares.keySet()) {
            Map<NodeId, NodeBuilt> ofWorker = new HashMap<>();
            told.get(next++).forEach(one -> ofWorker.put(one.node(), one));
            built.put(outbox, ofWorker);
        }
        Marker.Outcome outcome = new Marker.Outcome(new TreeMap<>(), new TreeMap<>(), new TreeMap<>());
        for (Lane lane : lanes.values()) {
            settle(lane, built, outcome);
        }
        for (Outbox outbox : shares.keySet()) {
            if (!outbox.givenUp().isEmpty()) {
                marker.dismiss(outbox.worker(), outbox.givenUp());
            }
        }
        return outcome;
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
        return switch (marker.persist(outbox.worker(), () -> outbox.worker().end(key, endings))) {
            case Heard.Said<List<NodeBuilt>> said ->
                said.value().stream()
                        .filter(one -> endings.containsKey(one.node()))
                        .toList();
            case Heard.Failed<List<NodeBuilt>> failed -> {
                outbox.giveUp(failed.why());
                yield List.of();
            }
        };
    }

    private void settle(Lane lane, Map<Outbox, Map<NodeId, NodeBuilt>> told, Marker.Outcome outcome) throws Exception {
        NodeId node = lane.wish.node();
        if (!lane.wrong.isEmpty()) {
            outcome.hopeless().put(node, lane.wrong);
            return;
        }
        List<NodeBuilt> built = new ArrayList<>();
        for (Outbox way : lane.ways) {
            NodeBuilt one = told.getOrDefault(way, Map.of()).get(node);
            if (one != null) {
                built.add(one);
            }
        }
        if (lane.isLost() || built.size() != lane.ways.size()) {
            outcome.missing().put(node, lane.isLost() ? lane.whyLost() : "a worker did not tell of it");
            return;
        }
        String why = disagreement(lane, built);
        if (!why.isEmpty()) {
            // The next attempt builds it with others.
            outcome.missing().put(node, why);
            marker.alarm(
                    "worker:" + addresses(lane.ways),
                    "node " + node + ", cycle " + key.cycle() + ", worker " + addresses(lane.ways) + ": " + why);
            return;
        }
        outcome.filters().put(node, marked(lane, built.getFirst()));
    }

    private Marked marked(Lane lane, NodeBuilt built) {
        long live = lane.sample.distinctAbout();
        List<WorkerPort> workers = lane.ways.stream().map(Outbox::worker).toList();
        return new Marked(
                key.attempt(),
                marker.seed(),
                built.digest(),
                lane.wish.pieces(),
                live,
                Math.max(built.distinctLeast(), Comparison.distinctCertain(live)),
                lane.sample::witnesses,
                marker.builtBy(workers),
                workers.stream()
                        .<Marked.Courier>map(worker -> new WorkerMarker.Holder(marker, worker, key))
                        .toList());
    }

    /** A worker that is wrong by itself gets nothing more; of two that differ it is not known which one is. */
    private String disagreement(Lane lane, List<NodeBuilt> built) {
        Comparison comparison = marker.parts().comparison();
        long distinct = lane.sample.distinctAbout();
        for (int i = 0; i < built.size(); i++) {
            String why = comparison.disagreement(lane.tally.sum(), distinct, List.of(built.get(i)));
            if (!why.isEmpty()) {
                marker.dismiss(lane.ways.get(i).worker(), why);
                return why;
            }
        }
        String why = comparison.disagreement(lane.tally.sum(), distinct, built);
        if (!why.isEmpty()) {
            marker.differ(lane.ways.stream().map(Outbox::worker).toList());
        }
        return why;
    }

    private static List<String> addresses(List<Outbox> ways) {
        return ways.stream().map(way -> way.worker().address()).toList();
    }

    /** Nothing of this attempt is wanted any more, whatever became of it; a worker that is not told forgets it later. */
    void drop() throws InterruptedException {
        for (Outbox outbox : shares.keySet()) {
            outbox.close();
            var unused = Heard.of(() -> {
                outbox.worker().drop(key);
                return true;
            });
        }
    }
}
