/** Putting values: batches, large values, and roots that name what was put. */
@NullMarked
package io.holdfast.redis.graph.write;

import org.jspecify.annotations.NullMarked;
