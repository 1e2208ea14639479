/** {@code holdfast sessions VERB NAME}, and what {@code holdfast why} says of a session. */
@NullMarked
package io.holdfast.app.sessions;

import org.jspecify.annotations.NullMarked;
