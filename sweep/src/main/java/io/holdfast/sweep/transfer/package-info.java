/** How live pieces get from a manager to a worker without one of them being lost: sessions, frames, windows, tallies. */
@NullMarked
package io.holdfast.sweep.transfer;

import org.jspecify.annotations.NullMarked;
