package io.holdfast.bench.slab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import org.caffinitas.ohc.CacheSerializer;
import org.caffinitas.ohc.OHCache;
import org.caffinitas.ohc.OHCacheBuilder;
import org.jspecify.annotations.Nullable;

/** OHC, off-heap with an LRU. Unmaintained; still the fastest of its kind where it runs. */
final class OhcPeer implements CachePeer {

    private final OHCache<Long, byte[]> cache;

    OhcPeer(long bytes) {
        cache = OHCacheBuilder.<Long, byte[]>newBuilder()
                .keySerializer(new Keys())
                .valueSerializer(new Values())
                .capacity(bytes)
                .maxEntrySize(bytes / 4)
                .build();
    }

    private static final class Keys implements CacheSerializer<Long> {
        @Override
        public void serialize(Long value, ByteBuffer buffer) {
            buffer.putLong(value);
        }

        @Override
        public Long deserialize(ByteBuffer buffer) {
            return buffer.getLong();
        }

        @Override
        public int serializedSize(Long value) {
            return Long.BYTES;
        }
    }

    private static final class Values implements CacheSerializer<byte[]> {
        @Override
        public void serialize(byte[] value, ByteBuffer buffer) {
            buffer.put(value);
        }

        @Override
        public byte[] deserialize(ByteBuffer buffer) {
            byte[] value = new byte[buffer.remaining()];
            buffer.get(value);
            return value;
        }

        @Override
        public int serializedSize(byte[] value) {
            return value.length;
        }
    }

    @Override
    public byte @Nullable [] get(long key) {
        return cache.get(key);
    }

    @Override
    public void put(long key, byte[] value) {
        cache.put(key, value);
    }

    @Override
    public void close() {
        try {
            cache.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
