/** The executable: command line, daemon, and the wiring between the modules. */
@NullMarked
package io.holdfast.app;

import org.jspecify.annotations.NullMarked;
