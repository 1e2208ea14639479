/** A real Redis server started from a jar, for {@code Holdfast.embedded()}, the demo and the tests. */
@NullMarked
package io.holdfast.embedded;

import org.jspecify.annotations.NullMarked;
