/** Aggregates beside the original's references. */
@NullMarked
package io.holdfast.bench.aggregates;

import org.jspecify.annotations.NullMarked;
