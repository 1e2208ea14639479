/** The facade: {@code Holdfast}. The capabilities on Redis hang on it. */
@NullMarked
package io.holdfast.redis;

import org.jspecify.annotations.NullMarked;
