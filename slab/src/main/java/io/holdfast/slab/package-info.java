/** A cache in shared memory for many JVMs, evicting by size class. */
@NullMarked
package io.holdfast.slab;

import org.jspecify.annotations.NullMarked;
