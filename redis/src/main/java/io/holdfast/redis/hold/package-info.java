/**
 * What sessions and aggregates share: things that instances hold under leases, found when nobody does, claimed by
 * one, and gone once. {@link io.holdfast.redis.hold.Holds} is one instance's side of it, {@link
 * io.holdfast.redis.hold.HoldScripts} owns every script call, and the scripts beside them decide.
 */
@NullMarked
package io.holdfast.redis.hold;

import org.jspecify.annotations.NullMarked;
