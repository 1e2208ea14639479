/** {@code holdfast verify}: the invariants of all parts, checked on a live system. */
@NullMarked
package io.holdfast.app.verify;

import org.jspecify.annotations.NullMarked;
