/** Planted mistakes. */
@NullMarked
package io.holdfast.slab.planted;

import org.jspecify.annotations.NullMarked;
