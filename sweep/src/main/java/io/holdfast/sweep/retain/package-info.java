/** What a cycle tells a storage node, and by whose signature. */
@NullMarked
package io.holdfast.sweep.retain;

import org.jspecify.annotations.NullMarked;
