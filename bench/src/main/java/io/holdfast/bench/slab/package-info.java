/** The slab cache beside the caches people use instead: speed, hit ratios, memory. */
@NullMarked
package io.holdfast.bench.slab;

import org.jspecify.annotations.NullMarked;
