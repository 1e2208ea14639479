package io.holdfast.sweep.manager;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Setting;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.retain.Manifest;
import io.holdfast.sweep.retain.Order;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.transfer.NodeBuilt;
import io.holdfast.sweep.transfer.SessionKey;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The manager's rounds from node to node: deliver the filters, see what each would trash, release the whole or nothing,
 * see it done. A node that cannot be reached, refuses, or does not get on is reported and left; the others go on.
 */
final class NodeRounds {

    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    private static final Duration MOST_PAUSE = Duration.ofSeconds(5);
    private static final int DELIVERIES_MAX = 5;

    private final FleetCycle cycle;
    private final ScanThreads callers;

    NodeRounds(FleetCycle cycle, ScanThreads callers) {
        this.cycle = cycle;
        this.callers = callers;
    }

    /** What is done for one node in a round. */
    private interface Visit {
        void to(NodeRun node) throws Exception;
    }

    /** Goes round all nodes in question, again and again, until none is left. */
    private void rounds(Predicate<NodeRun> open, Visit visit) throws Exception {
        Duration pause = FIRST_PAUSE;
        while (true) {
            List<NodeRun> left = cycle.nodes().values().stream().filter(open).toList();
            if (left.isEmpty()) {
                return;
            }
            cycle.renewIfDue();
            List<Callable<Boolean>> tasks = new ArrayList<>();
            for (NodeRun node : left) {
                tasks.add(() -> {
                    visit(node, visit);
                    return true;
                });
            }
            callers.all(tasks);
            if (cycle.nodes().values().stream().anyMatch(open)) {
                synchronized (this) {
                    cycle.pause().await(this, pause);
                }
                pause = pause.multipliedBy(2).compareTo(MOST_PAUSE) < 0 ? pause.multipliedBy(2) : MOST_PAUSE;
            }
        }
    }

    private void visit(NodeRun node, Visit visit) throws Exception {
        try {
            visit.to(node);
        } catch (HoldfastException e) {
            if (e.category() == Category.LAPSED) {
                throw e;
            }
            if (e.category() != Category.RETRY) {
                node.fail("" + e.getMessage());
                return;
            }
            node.detail = "" + e.getMessage();
            Duration patience = cycle.config().nodePatience();
            if (cycle.time().nanoTime() - node.lastHeardNanos > patience.toNanos()) {
                node.fail("nothing was heard of it for " + Setting.text(patience) + ": " + e.getMessage());
            }
        }
    }

    private void heard(NodeRun node) {
        node.lastHeardNanos = cycle.time().nanoTime();
    }

    /** Signs and delivers what manager and workers agree on. Nodes whose workers are gone are pending again. */
    void deliver() throws Exception {
        long began = cycle.time().nanoTime();
        cycle.nodes().values().forEach(node -> node.lastHeardNanos = began);
        rounds(node -> node.state == NodeRun.State.AGREED, this::deliver);
    }

    private void deliver(NodeRun node) throws Exception {
        SessionKey session = node.session;
        NodeBuilt built = node.built;
        if (session == null || built == null) {
            throw new IllegalStateException("node " + node.id() + " has agreed with nobody");
        }
        cycle.renewIfDue();
        Signed signed = cycle.config().orders().sign(manifest(node, built, session));
        for (WorkerPort worker : node.builders) {
            Optional<HoldfastException> refused;
            try {
                refused = worker.deliver(session, node.id(), node.port.address(), signed);
            } catch (HoldfastException e) {
                node.detail = "worker " + worker.address() + ": " + e.getMessage();
                continue;
            }
            if (refused.isPresent()) {
                refused(node, worker, refused.get());
                return;
            }
            heard(node);
            node.delivered();
            node.detail = "";
            node.state = NodeRun.State.EXAMINING;
            return;
        }
        node.state = NodeRun.State.PENDING;
    }

    private void refused(NodeRun node, WorkerPort worker, HoldfastException why) throws IOException {
        if (why.category() == Category.CORRUPT) {
            cycle.alarm("node " + node.id() + " refuses the filter of worker " + worker.address() + ": "
                    + why.getMessage());
        }
        throw why;
    }

    private Manifest manifest(NodeRun node, NodeBuilt built, SessionKey session) {
        Instant now = cycle.time().instant();
        List<Fingerprint> witnesses = node.sample.witnesses();
        return new Manifest(
                cycle.owner(),
                node.id(),
                session.cycle(),
                session.attempt(),
                now,
                now.plus(Manifest.VALID_FOR),
                cycle.cutoff(),
                cycle.incarnation(),
                node.pieces,
                built.distinctLeast(),
                Fingerprint.VERSION,
                LiveFilter.VERSION,
                cycle.seed(),
                built.digest(),
                witnesses,
                cycle.config().orders().keyId());
    }

    /** Waits until each node has said what it would trash. One that forgot its filter in a restart gets it again. */
    void awaitExamined() throws Exception {
        rounds(node -> node.state == NodeRun.State.EXAMINING || node.state == NodeRun.State.AGREED, node -> {
            if (node.state == NodeRun.State.AGREED) {
                deliver(node);
                if (node.state == NodeRun.State.PENDING) {
                    node.fail("it forgot its filter, and its workers are gone: " + node.detail);
                }
                return;
            }
            NodeProgress progress = look(node);
            switch (progress.state()) {
                case EXAMINED -> examined(node, progress);
                case UNKNOWN -> forgotten(node);
                case FAILED -> node.fail(progress.detail());
                case TRASHING, DONE -> node.state = NodeRun.State.RELEASED;
                case EXAMINING -> {}
            }
        });
    }

    private NodeProgress look(NodeRun node) {
        NodeProgress progress = node.port.progress(cycle.owner(), cycle.ticket().cycle());
        node.progress = progress;
        if (progress.examined() != node.lastExamined || progress.state() != NodeProgress.State.EXAMINING) {
            node.lastExamined = progress.examined();
            heard(node);
        } else if (cycle.time().nanoTime() - node.lastHeardNanos
                > cycle.config().nodePatience().toNanos()) {
            node.fail("its walk does not get on");
        }
        return progress;
    }

    private void examined(NodeRun node, NodeProgress progress) throws IOException {
        NodeBuilt built = node.built;
        if (built == null || !progress.digest().equals(built.digest())) {
            node.fail("it examined with another filter: " + progress.digest());
            return;
        }
        node.detail = progress.detail();
        node.state = NodeRun.State.EXAMINED;
        if (progress.verdict().equals("TOO_FEW_HITS")) {
            cycle.alarm("node " + node.id() + ", cycle " + cycle.ticket().cycle() + ": " + progress.detail());
        }
    }

    private void forgotten(NodeRun node) {
        if (node.deliveries >= DELIVERIES_MAX) {
            node.fail("it forgot its filter " + node.deliveries + " times");
        } else {
            node.state = NodeRun.State.AGREED;
        }
    }

    /** Lets all ready nodes trash what they found, if together it is within the fleet's limit; else none. */
    String release() throws Exception {
        List<NodeRun> examined = cycle.nodes().values().stream()
                .filter(node -> node.state == NodeRun.State.EXAMINED)
                .toList();
        long all = 0;
        long garbage = 0;
        for (NodeRun node : examined) {
            NodeProgress progress = node.progress;
            if (progress != null) {
                all += progress.examined();
                garbage += progress.isReady() ? progress.wouldTrash() : 0;
            }
            if (progress == null || !progress.isReady()) {
                node.state = NodeRun.State.WAITING;
            }
        }
        if (garbage * 100 > all * cycle.config().fleetLimitPercent()) {
            examined.forEach(node -> node.state = NodeRun.State.WAITING);
            return "nothing was trashed: " + garbage + " of " + all + " pieces is more than the fleet's limit of "
                    + cycle.config().fleetLimitPercent() + " %";
        }
        cycle.renew();
        rounds(node -> node.state == NodeRun.State.EXAMINED, this::release);
        String waiting = cycle.nodes().values().stream()
                .filter(node -> node.state == NodeRun.State.WAITING)
                .map(node -> node.id().name())
                .collect(Collectors.joining(", "));
        return waiting.isEmpty() ? "" : "waiting for an operator: " + waiting;
    }

    private void release(NodeRun node) {
        NodeProgress progress = node.progress;
        if (progress == null) {
            throw new IllegalStateException("node " + node.id() + " was not examined");
        }
        node.port.carry(cycle.config()
                .orders()
                .order(
                        Order.Kind.RELEASE,
                        cycle.owner(),
                        node.id(),
                        cycle.ticket().cycle(),
                        progress.digest(),
                        progress.wouldTrash(),
                        "manager"));
        heard(node);
        node.state = NodeRun.State.RELEASED;
    }

    void awaitDone() throws Exception {
        rounds(node -> node.state == NodeRun.State.RELEASED, node -> {
            NodeProgress progress = look(node);
            switch (progress.state()) {
                case DONE -> {
                    node.detail = progress.detail();
                    node.state = NodeRun.State.DONE;
                }
                case EXAMINED -> node.state = NodeRun.State.EXAMINED;
                case FAILED, UNKNOWN -> node.fail(progress.detail());
                case EXAMINING, TRASHING -> {}
            }
            if (node.state == NodeRun.State.EXAMINED) {
                release(node);
            }
        });
    }
}
