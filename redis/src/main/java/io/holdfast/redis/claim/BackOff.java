package io.holdfast.redis.claim;

import java.time.Duration;
import java.util.random.RandomGenerator;

/** Pauses that double up to a longest one, each shortened by up to half at random, so that instances do not retry in step. */
final class BackOff {

    private BackOff() {}

    /** @param times the number of failures, from 1 */
    static Duration pause(Duration first, int times, Duration longest, RandomGenerator random) {
        Duration doubled = first.multipliedBy(1L << Math.clamp(times - 1L, 0, 20));
        long millis = Math.max(1, (doubled.compareTo(longest) > 0 ? longest : doubled).toMillis());
        return Duration.ofMillis(millis - random.nextLong(millis / 2 + 1));
    }
}
