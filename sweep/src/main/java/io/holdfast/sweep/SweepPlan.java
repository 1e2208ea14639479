package io.holdfast.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.catalogue.ScanThreads;
import io.holdfast.sweep.cycle.FleetLimit;
import io.holdfast.sweep.node.Approval;
import io.holdfast.sweep.node.NodeReport;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.node.Verdict;
import io.holdfast.sweep.piece.NodeId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A cycle that was planned: every node has examined its pieces and waits. The nodes remember it, so only the newest plan
 * can be carried out, and once.
 */
public final class SweepPlan {

    private final Sweep sweep;
    private final SweepReport report;

    SweepPlan(Sweep sweep, SweepReport report) {
        this.sweep = sweep;
        this.report = report;
    }

    /** What each node found, and whether it is ready. */
    public SweepReport report() {
        return report;
    }

    /** Approvals for every node that waits for one, to be given to {@link #trash(List)} after a person has looked. */
    public List<Approval> approvals(String operator) {
        return report.nodes().stream()
                .filter(node -> node.verdict().approvable())
                .map(node -> Approval.of(operator, node))
                .toList();
    }

    /** Trashes on all nodes that are ready. */
    public SweepReport trash() {
        return trash(List.of());
    }

    /** Trashes on all nodes that are ready or approved, if what is not approved is within the fleet's limit. */
    public SweepReport trash(List<Approval> approvals) {
        Set<NodeId> approved = new HashSet<>();
        approvals.forEach(approval -> approved.add(approval.node()));
        FleetLimit.Ruling ruling = FleetLimit.whole(
                report.nodes().stream().map(node -> share(node, approved)).toList(), sweep.fleetLimitPercent());
        if (!ruling.held().isEmpty()) {
            String note = report.note().isEmpty() ? ruling.note() : ruling.note() + "; " + report.note();
            return Sweep.with(report, note, report.took());
        }
        long began = sweep.time().nanoTime();
        List<StorageNode> nodes = new ArrayList<>();
        report.nodes().forEach(node -> nodes.add(sweep.node(node.node())));
        try (ScanThreads threads = ScanThreads.of(sweep.scanners())) {
            SweepReport done = sweep.onEach(report, nodes, threads, SweepProgress.Phase.TRASH, (node, walked) -> {
                Optional<Approval> approval = approvals.stream()
                        .filter(given -> given.node().equals(node.id()))
                        .findFirst();
                return explained(node.trash(report.owner(), report.cycle(), approval, walked));
            });
            Map<String, Duration> took = new HashMap<>(report.took());
            took.put("trash", Duration.ofNanos(sweep.time().nanoTime() - began));
            return Sweep.with(done, report.note(), took);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw interrupted(e);
        } catch (Exception e) {
            throw interrupted(e);
        }
    }

    /** A node that was held back says what it found when it examined, and why it waits. */
    private NodeReport explained(NodeReport done) {
        return report.nodes().stream()
                .filter(examined -> examined.node().equals(done.node()) && done.isHeldBack())
                .findFirst()
                .orElse(done);
    }

    /** What an operator approved, or what does not go anyway, does not count as garbage here. */
    private static FleetLimit.Share share(NodeReport node, Set<NodeId> approved) {
        boolean counts = node.verdict() == Verdict.READY && !approved.contains(node.node());
        long garbage = counts ? node.wouldTrash() : 0;
        return new FleetLimit.Share(node.node(), Math.max(0, node.examined() - garbage), garbage);
    }

    private HoldfastException interrupted(Exception cause) {
        return new HoldfastException(
                Category.RETRY,
                "cycle " + report.cycle() + " was interrupted: " + cause,
                "the nodes go on with it when they are resumed; or restore it",
                cause);
    }
}
