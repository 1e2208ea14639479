/**
 * The value graph: immutable values that live exactly as long as something holds them. Begin with {@link
 * io.holdfast.redis.graph.ValueGraph}; then {@link io.holdfast.redis.graph.GraphScripts}, the Lua beside it, and {@link
 * io.holdfast.redis.graph.CascadeDuty}.
 */
@NullMarked
package io.holdfast.redis.graph;

import org.jspecify.annotations.NullMarked;
