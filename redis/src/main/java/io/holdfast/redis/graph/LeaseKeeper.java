package io.holdfast.redis.graph;

import io.holdfast.Duty;
import io.holdfast.DutyRunner;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Renews the leases of this process on one graph: those that are due go in one call, each a third of its length after
 * the last time. One failed renewal ends nothing: the next try follows soon, and until the deadline the lease is good.
 *
 * <p>A lease that the server no longer knows (this process stalled too long, or the store was replaced by an earlier
 * state of itself) is lost for good. A hold or snapshot then takes a new lease on the same value, which is as good as
 * the old one if the value is still alive: values never change. A writer cannot: what it put may be gone.
 */
final class LeaseKeeper implements Duty {

    private static final int MOST_IN_A_CALL = 256;
    private static final Duration IDLE = Duration.ofMinutes(1);
    private static final Duration SOONEST = Duration.ofMillis(20);
    /** After a renewal that got no answer. A back-off that grows, as duties have it, could outgrow the lease. */
    private static final Duration AGAIN = Duration.ofMillis(250);

    private static final System.Logger LOG = System.getLogger(LeaseKeeper.class.getName());

    /** Called when a lease is lost; answers the lease that takes its place, if any. Called again if it fails with RETRY. */
    interface Keeping {
        @Nullable
        GraphLease onLost();
    }

    private final String name;
    private final GraphScripts scripts;
    private final Time time;
    private final Map<GraphLease, Keeping> leases = new ConcurrentHashMap<>();
    private DutyRunner.@Nullable Assignment assignment;

    LeaseKeeper(String name, GraphScripts scripts, Time time) {
        this.name = name;
        this.scripts = scripts;
        this.time = time;
    }

    void startOn(DutyRunner runner) {
        assignment = runner.add(this);
    }

    void stop() {
        if (assignment != null) {
            assignment.close();
        }
    }

    void keep(GraphLease lease, Keeping keeping) {
        leases.put(lease, keeping);
        if (assignment != null) {
            assignment.wakeIn(lease.untilRenewal());
        }
    }

    void forget(GraphLease lease) {
        leases.remove(lease);
    }

    @Override
    public String name() {
        return name + " renew";
    }

    @Override
    public Step step() {
        List<GraphLease> due = new ArrayList<>();
        for (GraphLease lease : leases.keySet()) {
            if (due.size() < MOST_IN_A_CALL && lease.untilRenewal().compareTo(SOONEST) <= 0) {
                due.add(lease);
            }
        }
        if (!due.isEmpty() && !renew(due)) {
            return Step.restFor(0, AGAIN);
        }
        Duration next = IDLE;
        for (GraphLease lease : leases.keySet()) {
            Duration wish = lease.untilRenewal();
            next = wish.compareTo(next) < 0 ? wish : next;
        }
        return Step.restFor(due.size(), next.compareTo(SOONEST) < 0 ? SOONEST : next);
    }

    /** Whether there was an answer. */
    private boolean renew(List<GraphLease> due) {
        long sent = time.nanoTime();
        String alive;
        try {
            alive = scripts.renew(due.stream().map(GraphLease::id).toList());
        } catch (HoldfastException e) {
            if (e.isRetryable() || e.category() == Category.FULL) {
                LOG.log(System.Logger.Level.WARNING, "{0}: {1}; tried again soon", name(), e.getMessage());
                return false;
            }
            if (e.category() != Category.GONE) {
                throw e;
            }
            alive = "0".repeat(due.size());
        }
        boolean known = true;
        for (int i = 0; i < due.size(); i++) {
            if (alive.charAt(i) == '1') {
                due.get(i).renewedFrom(sent);
            } else {
                known &= replace(due.get(i));
            }
        }
        return known;
    }

    /** Whether it is known what takes the place of a lost lease, be it nothing; otherwise it is asked for again. */
    private boolean replace(GraphLease lost) {
        lost.lose();
        Keeping keeping = leases.get(lost);
        if (keeping != null) {
            GraphLease next;
            try {
                next = keeping.onLost();
            } catch (HoldfastException e) {
                LOG.log(System.Logger.Level.WARNING, "{0}: {1}; tried again soon", name(), e.getMessage());
                return false;
            }
            leases.remove(lost);
            if (next != null) {
                leases.put(next, keeping);
            }
        }
        return true;
    }
}
