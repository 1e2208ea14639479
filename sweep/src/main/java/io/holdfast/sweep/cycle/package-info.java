/** The rules of a cycle, one home each, for the cycle in one process and for the fleet. */
@NullMarked
package io.holdfast.sweep.cycle;

import org.jspecify.annotations.NullMarked;
