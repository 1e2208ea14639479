/**
 * Leases: what a holder may believe of its own one ({@link io.holdfast.redis.lease.LeaseTrust}), and in {@code quiet.lua} when
 * scripts may trust deadlines at all. Sessions and aggregates share both.
 */
@org.jspecify.annotations.NullMarked
package io.holdfast.redis.lease;
