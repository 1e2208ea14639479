/** Side-by-side measurements. */
@NullMarked
package io.holdfast.bench;

import org.jspecify.annotations.NullMarked;
