package io.holdfast.redis.session;

import io.holdfast.Duty;
import io.holdfast.Time;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.Holds.Condition;
import java.time.Duration;
import java.util.List;

/**
 * Gives the sign of life, one call per shard whatever the number of sessions, and repairs what went wrong meanwhile. A
 * heartbeat that fails is followed by the next one soon: one failure never ends the renewing.
 */
final class HeartbeatDuty implements Duty {

    private final String name;
    private final Holds holds;
    private final Serving serving;
    private final Duration pause;
    private final Duration soon;
    private final Time time;

    HeartbeatDuty(String name, Holds holds, Serving serving, SessionRules rules, Time time) {
        this.name = name;
        this.holds = holds;
        this.serving = serving;
        this.pause = rules.heartbeat();
        this.time = time;
        this.soon = rules.heartbeat().dividedBy(3);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Step step() {
        serving.tellLost(); // before the lease looks fresh again
        long deadline = time.nanoTime() + pause.toNanos();
        List<Condition> conditions = holds.heartbeat();
        serving.countDropped();
        boolean whole = serving.repair(conditions, deadline);
        return Step.restFor(conditions.size(), whole ? pause : soon);
    }
}
