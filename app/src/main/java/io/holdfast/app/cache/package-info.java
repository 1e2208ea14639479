/** {@code holdfast cache}: looking into a slab cache that other processes are using. */
@NullMarked
package io.holdfast.app.cache;

import org.jspecify.annotations.NullMarked;
