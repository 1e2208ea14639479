/** What a change must keep: architecture, tidiness, formatting, examples that compile. Each gate is shown to close. */
@NullMarked
package io.holdfast.gates;

import org.jspecify.annotations.NullMarked;
