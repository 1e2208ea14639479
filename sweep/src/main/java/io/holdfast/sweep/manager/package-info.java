/** The manager of a fleet: one cycle over many workers and storage nodes. */
@NullMarked
package io.holdfast.sweep.manager;

import org.jspecify.annotations.NullMarked;
