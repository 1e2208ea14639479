/**
 * Servers to kill, networks that fail, processes that die: what the tests of all modules share.
 *
 * <ul>
 *   <li>{@link io.holdfast.testkit.RedisServer}: one server; {@link io.holdfast.testkit.SharedRedis}: one for a test
 *       class; {@link io.holdfast.testkit.RedisCluster}: three masters; {@link io.holdfast.testkit.RedisReplication}: a
 *       primary, a replica and a Sentinel
 *   <li>{@link io.holdfast.testkit.FaultProxy}: the network between a client and any of them
 *   <li>{@link io.holdfast.testkit.ChildJvm}, {@link io.holdfast.testkit.KillPoint}: a process that dies where it hurts
 *   <li>{@link io.holdfast.testkit.Seeds}: tests that try many random histories and can replay each
 * </ul>
 *
 * <p>The clock that stands still until a test moves it is {@link io.holdfast.ManualTime}: it is in core, whose own tests
 * need it.
 */
@NullMarked
package io.holdfast.testkit;

import org.jspecify.annotations.NullMarked;
