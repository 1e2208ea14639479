package io.holdfast.redis.claim;

import java.time.Duration;

/**
 * How claims are worked off.
 *
 * @param claim how long a claim runs unless renewed
 * @param limit how long one piece of work may run; then it is interrupted, and counts as failed
 * @param failuresMax after so many failures a claim becomes a dead letter
 * @param retryPause the pause after the first failure; it doubles with each further one
 * @param places how much work runs or waits at the same time
 */
public record ClaimRules(Duration claim, Duration limit, int failuresMax, Duration retryPause, int places) {}
