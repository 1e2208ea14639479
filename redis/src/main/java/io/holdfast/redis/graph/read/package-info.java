/** Reading values, whole again where they were split. */
@NullMarked
package io.holdfast.redis.graph.read;

import org.jspecify.annotations.NullMarked;
