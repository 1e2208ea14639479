package io.holdfast.bench.slab;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** One cache under measurement, as small as all of them can be made to look. */
interface CachePeer extends AutoCloseable {

    VarHandle BIG_ENDIAN = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    byte @Nullable [] get(long key);

    void put(long key, byte[] value);

    /** Whether it makes room by itself; if not, it is filled with the most popular keys that fit. */
    default boolean evicts() {
        return true;
    }

    /** How many of the most popular keys fit into one that does not evict. */
    default int keysMost() {
        return Integer.MAX_VALUE;
    }

    /** Whether it keeps values outside the heap. */
    default boolean offHeap() {
        return true;
    }

    /** A new and empty one of the same kind and size. */
    default CachePeer another() {
        throw new UnsupportedOperationException();
    }

    /** The longest that its lock was held. */
    default double longestHoldMicros() {
        return Double.NaN;
    }

    /** Things to report at the end, {@code name=value} separated by spaces. */
    default String facts() {
        return "";
    }

    @Override
    void close();

    static byte[] keyBytes(long key) {
        byte[] bytes = new byte[Long.BYTES];
        BIG_ENDIAN.set(bytes, 0, key);
        return bytes;
    }

    /** All contenders, by name. */
    enum Kind {
        HOLDFAST,
        RAW,
        RAW_BY_RANK,
        CAFFEINE,
        CHRONICLE,
        EHCACHE,
        OHC;

        /** Those that keep values outside the heap and are quick, and the limit. */
        boolean hasWallRows() {
            return this == HOLDFAST || this == RAW || this == CHRONICLE || this == OHC;
        }

        /** Those outside the heap that make room for values of any size. */
        boolean takesLargeValues() {
            return this == HOLDFAST || this == OHC || this == EHCACHE;
        }

        CachePeer open(Path file, long bytes, int entries) {
            return switch (this) {
                case HOLDFAST -> new HoldfastPeer(file, bytes);
                case RAW, RAW_BY_RANK -> new RawCopy(bytes, entries);
                case CAFFEINE -> new CaffeinePeer(bytes);
                case CHRONICLE -> new ChroniclePeer(bytes);
                case EHCACHE -> new EhcachePeer(bytes);
                case OHC -> new OhcPeer(bytes);
            };
        }
    }
}
