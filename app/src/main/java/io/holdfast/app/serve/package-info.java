/** {@code holdfast serve}: the daemon that runs the duties of named graphs, session sets, caches and the sweep. */
@NullMarked
package io.holdfast.app.serve;

import org.jspecify.annotations.NullMarked;
