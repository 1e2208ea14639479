/** Reclaiming what nobody holds, and packing what is left. */
@NullMarked
package io.holdfast.redis.graph.reclaim;

import org.jspecify.annotations.NullMarked;
