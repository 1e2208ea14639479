/** The words of the sweep: a piece, the node it lies on, the catalogue it belongs to. */
@NullMarked
package io.holdfast.sweep.piece;

import org.jspecify.annotations.NullMarked;
