/** {@code holdfast graph VERB NAME}: one class a verb; {@link io.holdfast.app.graph.GraphCommand} lists them. */
@NullMarked
package io.holdfast.app.graph;

import org.jspecify.annotations.NullMarked;
