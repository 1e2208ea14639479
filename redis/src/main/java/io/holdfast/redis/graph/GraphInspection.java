package io.holdfast.redis.graph;

import io.holdfast.HoldfastException;
import io.holdfast.Time;
import io.holdfast.Why;
import java.io.IOException;

/**
 * Looks at a graph as a whole, while it is being used. Only {@link #repair} writes, and only if told to.
 *
 * <p>{@link #statistics} is cheap. {@link #verify}, {@link #repair} and, in the worst case, {@link #why} read everything, in
 * short calls; they tell their progress.
 */
public final class GraphInspection {

    private final ValueGraph graph;
    private final Time time;

    GraphInspection(ValueGraph graph, Time time) {
        this.graph = graph;
        this.time = time;
    }

    public GraphStatistics statistics() {
        return graph.inspectionScripts().statistics();
    }

    /** Compares every count with the holds, and looks for what nothing leads to. Online, exact, one at a time. */
    public VerifyReport verify(GraphProgress progress) {
        return verifier(progress).run((report, judged, session) -> report);
    }

    /**
     * Verifies, and mends what can be mended without a doubt.
     *
     * @param apply false: a dry run, which says what would be done
     */
    public RepairReport repair(boolean apply, GraphProgress progress) {
        RepairReport report = verifier(progress).run(new Repairer(graph.inspectionScripts(), apply, progress)::repair);
        graph.wake();
        return report;
    }

    /** Why a value is there, with the shortest chain of holders, or why it is gone. Walks; see {@link WhyWalk}. */
    public Why why(ValueId id, GraphProgress progress) {
        graph.beforeUse(id);
        return new WhyWalk(graph, progress).why(id);
    }

    public Why whyRoot(String root) {
        return WhyWalk.ofRoot(graph, root);
    }

    /** What the leases of an instance ({@code name#incarnation}) hold, and until when; or how they ended. */
    public Why whyLease(String holder) {
        return WhyWalk.ofLeases(graph, holder);
    }

    /** What dropping a root would free. */
    public Preview preview(String root, GraphProgress progress) {
        return new PreviewWalk(graph, progress).of(root);
    }

    /**
     * Draws what hangs on a root, for Graphviz.
     *
     * @param limit the most values to draw; where it was cut, the drawing says so
     * @return how many were drawn
     */
    public int dot(String root, int limit, Appendable to) throws IOException {
        if (limit < 1) {
            throw HoldfastException.misuse("a drawing of " + limit + " values", "allow at least 1");
        }
        try (Snapshot snapshot = graph.snapshot(root)) {
            return new DotWriter(graph, to, limit).draw(snapshot);
        }
    }

    private Verifier verifier(GraphProgress progress) {
        return new Verifier(graph.inspectionScripts(), graph.shelves(), graph.name(), graph.width(), time, progress);
    }
}
