/** The sweep's filter, storage node and cycle, beside Guava's Bloom filter and the memory's own limit. */
@NullMarked
package io.holdfast.bench.sweep;

import org.jspecify.annotations.NullMarked;
