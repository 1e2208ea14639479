/** Runs the application's work for what an instance has claimed: places, renewal, back-off, dead letters, drain. */
@NullMarked
package io.holdfast.redis.claim;

import org.jspecify.annotations.NullMarked;
