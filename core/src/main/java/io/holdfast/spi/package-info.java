/** What another module may bring along, found by {@link java.util.ServiceLoader}. Users do not call these. */
@NullMarked
package io.holdfast.spi;

import org.jspecify.annotations.NullMarked;
