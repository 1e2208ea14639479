/** The commands about aggregates. */
@NullMarked
package io.holdfast.app.aggregates;

import org.jspecify.annotations.NullMarked;
