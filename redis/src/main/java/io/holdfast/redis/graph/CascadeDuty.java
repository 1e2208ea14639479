package io.holdfast.redis.graph;

import io.holdfast.Duty;
import io.holdfast.DutyRunner;
import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ReclaimReason;
import io.holdfast.Reclaimed;
import io.holdfast.ThingId;
import io.holdfast.Time;
import io.holdfast.redis.graph.GraphScripts.Stepped;
import io.holdfast.redis.link.Notices;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reclaims what nobody holds, one bounded step after another: step.lua does the work, this class decides when. There is
 * more to do: again as soon as its {@link Pace} allows. Nothing to do: sleep until the next lease lapses, but not longer
 * than 5 s, since other clients may have taken leases that this one does not know of, and not shorter than a second, so
 * that an idle client costs the server no more than a call a second. What this client gives up itself wakes the duty
 * within 10 ms, so that what comes close together is done together.
 */
final class CascadeDuty implements Duty {

    private static final Duration LONGEST = Duration.ofSeconds(5);
    private static final Duration SHORTEST = Duration.ofSeconds(1);
    /** What is given up within this time is reclaimed together: a step costs the server 0.1 ms before its first value. */
    private static final Duration GATHERING = Duration.ofMillis(10);

    private final String graph;
    private final int width;
    private final GraphScripts scripts;
    private final Notices notices;
    private final HolderId self;
    private final Time time;
    private final Pace pace;
    private DutyRunner.@Nullable Assignment assignment;

    CascadeDuty(String graph, int width, GraphScripts scripts, Notices notices, HolderId self, Time time) {
        this.graph = graph;
        this.width = width;
        this.scripts = scripts;
        this.notices = notices;
        this.self = self;
        this.time = time;
        this.pace = new Pace(scripts.stepBytes());
    }

    void startOn(DutyRunner runner) {
        assignment = runner.add(this);
    }

    void stop() {
        if (assignment != null) {
            assignment.close();
        }
    }

    /** There is something to reclaim. */
    void wakeSoon() {
        wakeIn(GATHERING);
    }

    /** There is something to reclaim, no later than in this time. */
    void wakeIn(Duration delay) {
        if (assignment != null) {
            assignment.wakeIn(delay);
        }
    }

    @Override
    public String name() {
        return "graph " + graph + " cascade";
    }

    @Override
    public Step step() {
        long begin = time.nanoTime();
        Stepped stepped;
        try {
            stepped = scripts.step(pace.listens());
        } catch (HoldfastException e) {
            if (e.category() != Category.GONE) {
                throw e;
            }
            return Step.restFor(0, LONGEST); // the graph was destroyed by somebody
        }
        long end = time.nanoTime();
        Duration rest = pace.after(Duration.ofNanos(end - begin), stepped.heard(), end);
        if (stepped.freed() > 0) {
            tell(stepped.packed(), ReclaimReason.valueOf(stepped.reason()), stepped.cause());
        }
        if (stepped.hasMore()) {
            return Step.restFor(stepped.freed(), rest);
        }
        Duration next = stepped.nextMillis() < 0 ? LONGEST : Duration.ofMillis(stepped.nextMillis() + 1);
        next = next.compareTo(LONGEST) > 0 ? LONGEST : next;
        return Step.restFor(stepped.freed(), next.compareTo(SHORTEST) < 0 ? SHORTEST : next);
    }

    /** Tells the listeners of this process what a call of it has freed. */
    void tell(byte[] packed, ReclaimReason reason, String cause) {
        if (packed.length > 0 && !notices.isEmpty()) {
            List<String> ids = PutRequest.unpack(packed, width).stream()
                    .map(ValueId::toString)
                    .toList();
            notices.onReclaimed(new Reclaimed(ThingId.Kind.VALUE, graph, ids, reason, cause, time.instant(), self));
        }
    }
}
