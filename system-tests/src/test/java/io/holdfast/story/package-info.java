/** The story that makes it one system: what is released in the graph is gone on the storage nodes and in the caches. */
@NullMarked
package io.holdfast.story;

import org.jspecify.annotations.NullMarked;
