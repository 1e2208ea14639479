package io.holdfast.sweep.manager;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Setting;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.cycle.FleetLimit;
import io.holdfast.sweep.cycle.Heard;
import io.holdfast.sweep.cycle.Marked;
import io.holdfast.sweep.cycle.Marker;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.retain.Order;
import io.holdfast.sweep.retain.Signed;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The manager's rounds from node to node: deliver the filters, see what each would trash, release the whole or nothing,
 * see it done. A node that cannot be reached, refuses, lies, or does not get on is reported and left; the others go on. The
 * states and their deadlines are in {@link NodeRun}.
 */
final class NodeRounds {

    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    private static final Duration MOST_PAUSE = Duration.ofSeconds(5);
    private static final int DELIVERIES_MAX = 5;

    private final FleetCycle cycle;
    private final Marker marker;
    private final ScanThreads callers;

    NodeRounds(FleetCycle cycle, Marker marker, ScanThreads callers) {
        this.cycle = cycle;
        this.marker = marker;
        this.callers = callers;
    }

    /** What is done for one node in a round. */
    private interface Visit {
        void to(NodeRun node) throws Exception;
    }

    /** Goes round all nodes in question, again and again, until none is left. */
    private void rounds(Predicate<NodeRun> open, Visit visit) throws Exception {
        Duration pause = FIRST_PAUSE;
        long began = cycle.nanos();
        cycle.nodes().values().stream().filter(open).forEach(node -> node.turnedTo(began));
        while (true) {
            List<NodeRun> left = cycle.nodes().values().stream().filter(open).toList();
            if (left.isEmpty()) {
                return;
            }
            cycle.requireHeld();
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
        visit.to(node);
        Duration most = cycle.config().nodeDeadline();
        if (!node.state().isOver() && cycle.nanos() - node.boundSinceNanos() > most.toNanos()) {
            node.fail("it did not finish within " + Setting.text(most) + " (sweep.manager.node-deadline)");
        }
    }

    /** A call to the node's peer failed: for good, or until its patience is over. */
    private void failed(NodeRun node, Heard.Failed<?> failed) {
        if (!failed.mayPass()) {
            node.fail(failed.why());
            return;
        }
        node.detail = failed.why();
        Duration patience = cycle.config().nodePatience();
        if (cycle.nanos() - node.lastHeardNanos > patience.toNanos()) {
            node.fail("nothing was heard of it for " + Setting.text(patience) + ": " + failed.why());
        }
    }

    private void heard(NodeRun node) {
        node.lastHeardNanos = cycle.nanos();
    }

    /** Signs and delivers what manager and workers agree on. Nodes whose workers are gone are pending again. */
    void deliver() throws Exception {
        rounds(node -> node.is(NodeRun.State.AGREED), this::deliver);
    }

    private static Marked filterOf(NodeRun node) {
        Marked filter = node.filter;
        if (filter == null) {
            throw new IllegalStateException("nobody has built the filter of node " + node.id());
        }
        return filter;
    }

    private void deliver(NodeRun node) throws Exception {
        Marked filter = filterOf(node);
        cycle.requireHeld();
        Signed signed = cycle.config().orders().sign(cycle.manifest(node.id(), filter));
        boolean mayPass = false;
        boolean isBroken = false;
        for (Marked.Courier courier : filter.couriers()) {
            switch (courier.deliver(node.id(), node.port.address(), signed)) {
                case Heard.Failed<Optional<HoldfastException>> lost -> {
                    node.detail = courier.name() + ": " + lost.why();
                    courier.dismiss(lost.why());
                }
                case Heard.Said<Optional<HoldfastException>> said -> {
                    if (said.value().isEmpty()) {
                        taken(node);
                        return;
                    }
                    HoldfastException why = said.value().get();
                    isBroken |= why.category() == Category.CORRUPT;
                    mayPass |= mayPass(node, courier, why);
                }
            }
        }
        if (!mayPass) {
            buildAgain(node, filter, isBroken);
        }
    }

    private void taken(NodeRun node) {
        heard(node);
        node.delivered();
        node.detail = "";
        node.to(NodeRun.State.EXAMINING, cycle.nanos());
    }

    /** A worker says that the node did not take its filter: whether the same worker may try again. */
    private boolean mayPass(NodeRun node, Marked.Courier courier, HoldfastException why) throws IOException {
        String said = Heard.text("" + why.getMessage());
        node.detail = courier.name() + " could not deliver its filter: " + said;
        boolean isPatient = cycle.nanos() - node.lastHeardNanos
                <= cycle.config().nodePatience().toNanos();
        if (why.category() == Category.RETRY && isPatient) {
            return true;
        }
        if (why.category() == Category.CORRUPT) {
            cycle.alarm(
                    courier.identity(), "node " + node.id() + " refuses the filter of " + courier.name() + ": " + said);
        }
        node.refused.add(courier.identity());
        return false;
    }

    /**
     * No builder has delivered. The node is asked itself: one worker's word fails no node. Others build for it unless it
     * refuses the cycle, or two workers say so.
     *
     * @param isBroken whether the filter arrived broken, so that another's may arrive whole
     */
    private void buildAgain(NodeRun node, Marked filter, boolean isBroken) throws InterruptedException {
        if (!node.refused.isEmpty()) {
            Optional<NodeProgress> told = look(node);
            if (told.isEmpty()) {
                return;
            }
            NodeProgress progress = told.get();
            if (progress.digest().equals(filter.digest()) && progress.state() != NodeProgress.State.FAILED) {
                taken(node);
                return;
            }
            boolean bySeveral = node.refused.size() >= Math.min(2, marker.buildersAtHand());
            if (bySeveral || (progress.state() == NodeProgress.State.FAILED && !isBroken)) {
                node.fail(progress.detail().isEmpty() ? node.detail : progress.detail());
                return;
            }
        }
        node.to(NodeRun.State.PENDING, cycle.nanos());
    }

    /** Waits until each node has said what it would trash. One that forgot its filter in a restart gets it again. */
    void awaitExamined() throws Exception {
        rounds(node -> node.is(NodeRun.State.EXAMINING) || node.is(NodeRun.State.AGREED), node -> {
            if (node.is(NodeRun.State.AGREED)) {
                deliver(node);
                if (node.is(NodeRun.State.PENDING)) {
                    node.fail("it forgot its filter, and its workers are gone: " + node.detail);
                }
                return;
            }
            Optional<NodeProgress> told = look(node);
            if (told.isPresent()) {
                switch (told.get().state()) {
                    case EXAMINED -> examined(node, told.get());
                    case UNKNOWN -> forgotten(node);
                    case FAILED -> node.fail(told.get().detail());
                    case TRASHING, DONE -> node.to(NodeRun.State.RELEASED, cycle.nanos());
                    case EXAMINING -> {}
                }
            }
        });
    }

    /** Empty if there is no reply to use, or the node was given up for it. */
    private Optional<NodeProgress> look(NodeRun node) throws InterruptedException {
        Heard<NodeProgress> reply = Heard.of(() ->
                Heard.possible(node.port.progress(cycle.owner(), cycle.ticket().cycle())));
        switch (reply) {
            case Heard.Failed<NodeProgress> failed -> {
                failed(node, failed);
                return Optional.empty();
            }
            case Heard.Said<NodeProgress> said -> {
                NodeProgress progress = said.value();
                node.progress = progress;
                if (progress.examined() != node.lastExamined || progress.state() != NodeProgress.State.EXAMINING) {
                    node.lastExamined = progress.examined();
                    heard(node);
                } else if (cycle.nanos() - node.lastHeardNanos
                        > cycle.config().nodePatience().toNanos()) {
                    node.fail("its walk does not get on");
                    return Optional.empty();
                }
                return Optional.of(progress);
            }
        }
    }

    private void examined(NodeRun node, NodeProgress progress) throws IOException {
        if (!progress.digest().equals(filterOf(node).digest())) {
            node.fail("it examined with another filter: " + progress.digest());
            return;
        }
        node.detail = Heard.text(progress.detail());
        node.to(NodeRun.State.EXAMINED, cycle.nanos());
        if (progress.verdict().equals("TOO_FEW_HITS")) {
            cycle.alarm(
                    "node:" + node.id(),
                    "node " + node.id() + ", cycle " + cycle.ticket().cycle() + ": " + progress.detail());
        }
    }

    private void forgotten(NodeRun node) {
        if (node.deliveries >= DELIVERIES_MAX) {
            node.fail("it forgot its filter " + node.deliveries + " times");
        } else {
            node.to(NodeRun.State.AGREED, cycle.nanos());
        }
    }

    /** Lets the ready nodes trash what they found, as far as {@link FleetLimit} lets them. */
    String release() throws Exception {
        List<NodeRun> ready = new ArrayList<>();
        List<FleetLimit.Share> shares = new ArrayList<>();
        for (NodeRun node : cycle.nodes().values()) {
            if (node.is(NodeRun.State.EXAMINED)) {
                NodeProgress progress = node.progress;
                boolean isReady = progress != null && progress.isReady();
                long live = filterOf(node).live();
                shares.add(
                        new FleetLimit.Share(node.id(), live, isReady && progress != null ? progress.wouldTrash() : 0));
                if (isReady) {
                    ready.add(node);
                } else {
                    node.to(NodeRun.State.WAITING, cycle.nanos());
                }
            }
        }
        FleetLimit.Ruling ruling = FleetLimit.leavingOut(shares, cycle.config().fleetLimitPercent());
        for (NodeRun node : ready) {
            if (ruling.held().contains(node.id())) {
                node.detail = ruling.note();
                node.to(NodeRun.State.WAITING, cycle.nanos());
            }
        }
        cycle.requireHeld();
        rounds(node -> node.is(NodeRun.State.EXAMINED), this::release);
        if (!ruling.note().isEmpty()) {
            return ruling.note();
        }
        String waiting = cycle.nodes().values().stream()
                .filter(node -> node.is(NodeRun.State.WAITING))
                .map(node -> node.id().name())
                .collect(Collectors.joining(", "));
        return waiting.isEmpty() ? "" : "waiting for an operator: " + waiting;
    }

    private void release(NodeRun node) throws InterruptedException {
        NodeProgress progress = node.progress;
        if (progress == null) {
            throw new IllegalStateException("node " + node.id() + " was not examined");
        }
        Heard<?> reply = Heard.of(() -> node.port.carry(cycle.config()
                .orders()
                .order(
                        Order.Kind.RELEASE,
                        cycle.owner(),
                        node.id(),
                        cycle.ticket().cycle(),
                        progress.digest(),
                        progress.wouldTrash(),
                        "manager")));
        if (reply instanceof Heard.Failed<?> failed) {
            failed(node, failed);
        } else {
            heard(node);
            node.to(NodeRun.State.RELEASED, cycle.nanos());
        }
    }

    void awaitDone() throws Exception {
        rounds(node -> node.is(NodeRun.State.RELEASED) || node.is(NodeRun.State.EXAMINED), node -> {
            if (node.is(NodeRun.State.EXAMINED)) {
                release(node);
                return;
            }
            Optional<NodeProgress> told = look(node);
            if (told.isPresent()) {
                switch (told.get().state()) {
                    case DONE -> {
                        node.detail = Heard.text(told.get().detail());
                        node.to(NodeRun.State.DONE, cycle.nanos());
                    }
                    case EXAMINED -> node.to(NodeRun.State.EXAMINED, cycle.nanos());
                    case FAILED, UNKNOWN -> node.fail(told.get().detail());
                    case EXAMINING, TRASHING -> {}
                }
            }
        });
    }
}
