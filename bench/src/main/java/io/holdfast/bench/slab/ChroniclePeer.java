package io.holdfast.bench.slab;

import net.openhft.chronicle.map.ChronicleMap;
import org.jspecify.annotations.Nullable;

/** Chronicle Map in memory; it does not evict. */
final class ChroniclePeer implements CachePeer {

    private static final int AVERAGE_VALUE = 2_080;

    private final ChronicleMap<byte[], byte[]> map;
    private final long entries;

    ChroniclePeer(long bytes) {
        entries = bytes / (AVERAGE_VALUE + 64);
        map = ChronicleMap.of(byte[].class, byte[].class)
                .name("bench")
                .constantKeySizeBySample(new byte[8])
                .averageValueSize(AVERAGE_VALUE)
                .entries(entries)
                .create();
    }

    @Override
    public byte @Nullable [] get(long key) {
        return map.get(CachePeer.keyBytes(key));
    }

    @Override
    public void put(long key, byte[] value) {
        if (key < entries) {
            map.put(CachePeer.keyBytes(key), value);
        }
    }

    @Override
    public int keysMost() {
        return (int) entries;
    }

    @Override
    public boolean evicts() {
        return false;
    }

    @Override
    public void close() {
        map.close();
    }
}
