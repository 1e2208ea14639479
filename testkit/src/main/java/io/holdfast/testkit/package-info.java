/**
 * Servers to kill, networks that fail, processes that die: what the tests of all modules share.
 *
 * <p>{@link io.holdfast.testkit.RedisServer}, {@link io.holdfast.testkit.SharedRedis}: real servers. The clock that
 * stands still until a test moves it is {@link io.holdfast.ManualTime}, in core, whose own tests need it.
 */
@NullMarked
package io.holdfast.testkit;

import org.jspecify.annotations.NullMarked;
