/** A storage node: pieces in files, and the rules by which a cycle may move them to the trash. */
@NullMarked
package io.holdfast.sweep.node;

import org.jspecify.annotations.NullMarked;
