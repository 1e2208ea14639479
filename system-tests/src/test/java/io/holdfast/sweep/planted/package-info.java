/** Planted mistakes. */
@NullMarked
package io.holdfast.sweep.planted;

import org.jspecify.annotations.NullMarked;
