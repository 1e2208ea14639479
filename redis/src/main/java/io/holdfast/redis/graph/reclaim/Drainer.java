package io.holdfast.redis.graph.reclaim;

import io.holdfast.Duty;
import io.holdfast.DutyRunner;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.redis.graph.store.Recount;
import io.holdfast.redis.graph.store.Store;
import io.holdfast.redis.graph.store.Store.Stepped;
import io.holdfast.redis.link.RedisLink;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reclaims what nobody holds, one bounded step after another: step.lua does the work, this class decides when. A step
 * is followed by a rest as long as itself, so that the server's other clients have half of its time. One client of a
 * graph drains at a time, by a token; the others look whether it still does.
 *
 * <p>With nothing to reclaim it packs segments of which few values are left, ends leases that are past their deadline,
 * and otherwise looks every few seconds. What this client gives up itself wakes it.
 *
 * <p>If a call of the graph was torn, it repairs the graph before anything else.
 */
public final class Drainer implements Duty {

    private static final System.Logger LOG = System.getLogger(Drainer.class.getName());

    private static final Duration LONGEST = Duration.ofSeconds(5);
    private static final Duration SHORTEST = Duration.ofSeconds(1);
    /** What is given up within this time is reclaimed together. */
    private static final Duration GATHERING = Duration.ofMillis(10);

    private static final Duration REST_MAX = Duration.ofMillis(10);
    /** More work than this costs so much memory that it is taken from the end where it gets less soonest. */
    private static final long LONG_WORK = 4_096;

    private static final int SEGMENTS_AHEAD = 64;
    private static final int SPARSE_MAX = 10_000;
    private static final int PACKED_VALUES = 24;
    private static final int PACKED_BYTES = 16 << 10;

    private final String graph;
    private final Store store;
    private final int budget;
    private final Time time;
    private final Deque<String> sparse = new ArrayDeque<>();
    private List<String> next = List.of();
    private boolean oldestFirst;
    private DutyRunner.@Nullable Assignment assignment;

    /** @param budget of a step, about in microseconds */
    public Drainer(String graph, Store store, int budget, Time time) {
        this.graph = graph;
        this.store = store;
        this.budget = budget;
        this.time = time;
    }

    public void startOn(DutyRunner runner) {
        assignment = runner.add(this);
    }

    public void stop() {
        if (assignment != null) {
            assignment.close();
        }
    }

    /** There is something to reclaim. */
    public void wake() {
        if (assignment != null) {
            assignment.wakeIn(GATHERING);
        }
    }

    @Override
    public String name() {
        return "graph " + graph + " drain";
    }

    @Override
    public Step step() {
        long begin = time.nanoTime();
        Stepped stepped;
        try {
            stepped = stepOnce();
        } catch (HoldfastException e) {
            if (RedisLink.isTorn(e)) {
                return repair();
            }
            if (e.category() == Category.GONE) {
                return Step.restFor(0, LONGEST); // the graph was destroyed by somebody
            }
            throw e;
        }
        if (!stepped.status().equals("OK")) {
            return Step.restFor(0, within(stepped.waitMillis()));
        }
        boolean more = stepped.left() > 0 || endLate(stepped.late());
        if (more || pack()) {
            Duration took = Duration.ofNanos(time.nanoTime() - begin);
            return Step.restFor(stepped.freed(), took.compareTo(REST_MAX) < 0 ? took : REST_MAX);
        }
        return Step.restFor(stepped.freed(), stepped.waitMillis() < 0 ? LONGEST : within(stepped.waitMillis() + 1));
    }

    /** One step of reclaiming; for tests and tools that do not run the duty. */
    public Stepped stepOnce() {
        Stepped stepped = store.step(budget, oldestFirst, SEGMENTS_AHEAD, next);
        next = stepped.next();
        oldestFirst = stepped.left() > LONG_WORK;
        for (String segment : stepped.sparse()) {
            if (sparse.size() < SPARSE_MAX && !sparse.contains(segment)) {
                sparse.add(segment);
            }
        }
        return stepped;
    }

    /** Ends leases that are past their deadline; answers whether there is something to reclaim now. */
    private boolean endLate(List<String> leases) {
        boolean ended = false;
        for (String lease : leases) {
            String status = store.leave(lease, true);
            ended |= status.equals("OK") || status.equals("MORE");
        }
        return ended;
    }

    /** Packs a segment of which few values are left; answers whether there may be another. */
    private boolean pack() {
        String segment = sparse.poll();
        if (segment != null) {
            store.pack(segment, PACKED_VALUES, PACKED_BYTES);
        }
        return !sparse.isEmpty();
    }

    private Step repair() {
        LOG.log(
                System.Logger.Level.WARNING,
                "graph {0}: the log of the server was cut in the middle of a call; counting anew what holds what",
                graph);
        Recount.Report report = new Recount(store).run(false);
        if (report.done()) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "graph {0}: counted anew: {1} values are there, {2} were erased; the server lost {3}",
                    graph,
                    report.values(),
                    report.erased(),
                    report.lost());
        }
        return Step.restFor(0, SHORTEST);
    }

    private static Duration within(long millis) {
        return Duration.ofMillis(Math.clamp(millis, SHORTEST.toMillis(), LONGEST.toMillis()));
    }
}
