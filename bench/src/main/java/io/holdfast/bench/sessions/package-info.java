/** Sessions beside the decision record's own commands. */
@NullMarked
package io.holdfast.bench.sessions;

import org.jspecify.annotations.NullMarked;
