/** {@code holdfast why KIND:ID}. */
@NullMarked
package io.holdfast.app.why;

import org.jspecify.annotations.NullMarked;
