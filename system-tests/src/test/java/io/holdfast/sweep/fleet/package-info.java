/** A fleet of real processes. */
@NullMarked
package io.holdfast.sweep.fleet;

import org.jspecify.annotations.NullMarked;
