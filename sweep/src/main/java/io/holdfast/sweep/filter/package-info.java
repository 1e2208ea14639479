/** The set of live ids of one storage node, in a few bits an id: what is in it is never missed. */
@NullMarked
package io.holdfast.sweep.filter;

import org.jspecify.annotations.NullMarked;
