/** Small programs on the public API, each run as a test. */
@NullMarked
package io.holdfast.examples;

import org.jspecify.annotations.NullMarked;
