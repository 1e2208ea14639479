package io.holdfast.redis.session;

import io.holdfast.Duty;
import java.time.Duration;

/** Notices on the monotonic clock, without asking anybody, that this instance's lease may have lapsed. */
final class WatchDuty implements Duty {

    private final String name;
    private final Serving serving;
    private final Duration longestPause;

    WatchDuty(String name, Serving serving, SessionRules rules) {
        this.name = name;
        this.serving = serving;
        this.longestPause = rules.lease().dividedBy(3);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Step step() {
        long soonest = Math.min(serving.tellLost(), longestPause.toNanos());
        return Step.restFor(0, Duration.ofNanos(soonest));
    }
}
