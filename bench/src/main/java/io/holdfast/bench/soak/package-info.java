/** Everything at once, for as long as one likes, with kills. */
@NullMarked
package io.holdfast.bench.soak;

import org.jspecify.annotations.NullMarked;
