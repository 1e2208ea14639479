/** Servers to kill, networks that fail, processes that die: what the tests of all modules share. */
@NullMarked
package io.holdfast.testkit;

import org.jspecify.annotations.NullMarked;
