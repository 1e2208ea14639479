/**
 * Aggregates: many instances add to one record, the last one out writes it, once. Begin with {@link
 * io.holdfast.redis.aggregate.Aggregates}; {@link io.holdfast.redis.aggregate.AggregateScripts} owns every script call.
 */
@NullMarked
package io.holdfast.redis.aggregate;

import org.jspecify.annotations.NullMarked;
