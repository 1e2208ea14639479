/** A worker: builds the live filters of some nodes, and hands over those that are signed. */
@NullMarked
package io.holdfast.sweep.worker;

import org.jspecify.annotations.NullMarked;
