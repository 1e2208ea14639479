/**
 * The value graph in Redis: its keys, its scripts, and the calls of them. {@link io.holdfast.redis.graph.store.Store}
 * has every call; what a segment looks like is drawn in {@code segment.lua}.
 */
@NullMarked
package io.holdfast.redis.graph.store;

import org.jspecify.annotations.NullMarked;
