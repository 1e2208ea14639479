/** Finds garbage on storage nodes: catalogue, filter, cycle, storage node. */
@NullMarked
package io.holdfast.sweep;

import org.jspecify.annotations.NullMarked;
