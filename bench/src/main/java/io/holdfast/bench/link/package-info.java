/** The way to Redis beside the clients it could have been. */
@NullMarked
package io.holdfast.bench.link;

import org.jspecify.annotations.NullMarked;
