/** The value graph beside raw SET and beside the three-key layout that it comes from. */
@NullMarked
package io.holdfast.bench.graph;

import org.jspecify.annotations.NullMarked;
