package io.holdfast.redis.hold;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * Looks, again and again, for leases that have lapsed and things that are due. Every instance does. Pauses are jittered, so
 * that instances do not poll in step.
 */
public abstract class DueDuty implements Duty {

    /** How many things one look claims in each shard. */
    protected static final int CLAIMS_PER_SHARD_MAX = 64;

    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);
    private static final Duration JITTER = Duration.ofMillis(50);

    private final String name;
    private final RandomGenerator random;

    protected DueDuty(String name, RandomGenerator random) {
        this.name = name;
        this.random = random;
    }

    /**
     * What one look found and did.
     *
     * @param more whether more is due at once
     * @param nextMillis in how long the next thing is due
     */
    public record Look(long done, boolean more, long nextMillis) {}

    protected abstract Look look();

    @Override
    public final String name() {
        return name;
    }

    @Override
    public final Step step() {
        Look look;
        try {
            look = look();
        } catch (HoldfastException e) {
            if (!e.isRetryable()) {
                throw e;
            }
            // Not left to the runner, whose pauses grow: a store that is back is served within the usual time.
            look = new Look(0, false, Long.MAX_VALUE);
        }
        return look.more() ? Step.again(look.done()) : Step.restFor(look.done(), pause(look.nextMillis()));
    }

    private Duration pause(long nextMillis) {
        long millis = Math.min(nextMillis, LONGEST_PAUSE.toMillis());
        return Duration.ofMillis(millis + 1 + random.nextLong(JITTER.toMillis()));
    }
}
