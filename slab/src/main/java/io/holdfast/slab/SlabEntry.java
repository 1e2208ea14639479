package io.holdfast.slab;

import org.jspecify.annotations.Nullable;

/**
 * One value as tools see it.
 *
 * @param value null if only the keys were asked for
 * @param page number of the page that holds it, counted through all shards
 */
@SuppressWarnings("ArrayRecordComponent") // a copy of the caller's own
public record SlabEntry(String namespace, byte[] key, byte @Nullable [] value, int valueBytes, long version, int page) {

    /** The same in a shard that so many pages come before. */
    SlabEntry pagesLater(int pages) {
        return pages == 0 ? this : new SlabEntry(namespace, key, value, valueBytes, version, page + pages);
    }
}
