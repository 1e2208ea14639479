package io.holdfast.redis.aggregate;

import io.holdfast.Duty;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.Holds.Condition;
import java.time.Duration;
import java.util.List;

/**
 * Gives the sign of life, one call per shard. What this instance held under a lease that is gone needs no repair: the key stays
 * open for a soft window without a holder, and the next publish holds it again.
 */
record HeartbeatDuty(String name, Holds holds, Duration pause) implements Duty {

    @Override
    public Step step() {
        List<Condition> conditions = holds.heartbeat();
        boolean reached = !conditions.contains(Condition.UNREACHABLE);
        return Step.restFor(conditions.size(), reached ? pause : pause.dividedBy(3));
    }
}
