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

    /** Whether it keeps values outside the heap. */
    default boolean offHeap() {
        return true;
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
        CAFFEINE,
        CHRONICLE,
        EHCACHE,
        OHC;

        CachePeer open(Path file, long bytes, int entries) {
            return switch (this) {
                case HOLDFAST -> new HoldfastPeer(file, bytes);
                case RAW -> new RawCopy(bytes, entries);
                case CAFFEINE -> new CaffeinePeer(bytes);
                case CHRONICLE -> new ChroniclePeer(bytes);
                case EHCACHE -> new EhcachePeer(bytes);
                case OHC -> new OhcPeer(bytes);
            };
        }
    }
}
