/**
 * The one way to Redis: {@link io.holdfast.redis.link.RedisLink} calls scripts and commands with a bound on waiting,
 * {@link io.holdfast.redis.link.Script} is a Lua file with a checked header, {@link
 * io.holdfast.redis.link.Keyspace} names keys, and every failure leaves here as a {@link
 * io.holdfast.HoldfastException} with a category.
 */
@NullMarked
package io.holdfast.redis.link;

import org.jspecify.annotations.NullMarked;
