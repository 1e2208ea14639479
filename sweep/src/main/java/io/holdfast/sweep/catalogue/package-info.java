/** Who knows which pieces are live: one consistent snapshot, read in ranges. */
@NullMarked
package io.holdfast.sweep.catalogue;

import org.jspecify.annotations.NullMarked;
