package io.holdfast.slab;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * What the bytes of a value add up to. Each word of eight bytes is mixed with a number of its place, and the products of
 * the halves are added: the inner loop of XXH3 and of UMAC's NH, which tell two different values of a length apart but
 * for one time in 2^32. The word is added too, since a product does not change where its other half is zero: so a single
 * bit that flips is always seen. The sums of blocks are mixed in their order.
 *
 * <p>A sum can be made in any order, so the compiler makes vector instructions of the loop. It is against damage, not
 * against malice.
 */
final class Checksum {

    /** Those who add a value piece by piece give pieces that are a multiple of this, but for the last. */
    static final int BLOCK_BYTES = 4096;

    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long LOW = 0xffffffffL;
    private static final long MIX_1 = 0x9e3779b97f4a7c15L;
    private static final long MIX_2 = 0xd6e8feb86659fd93L;
    private static final long[] PLACES = places();

    static final long NOTHING = 0xa0761d6478bd642fL;

    private Checksum() {}

    private static long[] places() {
        long[] places = new long[BLOCK_BYTES / Long.BYTES];
        for (int i = 0; i < places.length; i++) {
            long mixed = (i + 1) * MIX_1;
            mixed = (mixed ^ mixed >>> 31) * MIX_2;
            places[i] = mixed ^ mixed >>> 29;
        }
        return places;
    }

    /** What the word at this index of a block is mixed with. */
    static long place(int index) {
        return PLACES[index];
    }

    /** The checksum of what came before, or {@link #NOTHING}, and of these bytes after it. */
    static long of(long before, byte[] bytes, int length) {
        long state = before;
        int at = 0;
        while (length - at >= Long.BYTES) {
            int words = Math.min(length - at, BLOCK_BYTES) / Long.BYTES;
            state = mixed(state, products(bytes, at, words));
            at += words * Long.BYTES;
        }
        return at < length ? mixed(state, lastWord(bytes, at, length)) : state;
    }

    /** As plain as a loop can be: with a second sum, or another place to begin, it is no more made of vectors. */
    private static long products(byte[] bytes, int from, int words) {
        long sum = 0;
        for (int i = 0; i < words; i++) {
            long word = (long) LONGS.get(bytes, from + (i << 3)) ^ PLACES[i];
            sum += (word & LOW) * (word >>> 32) + word;
        }
        return sum;
    }

    private static long lastWord(byte[] bytes, int from, int end) {
        long word = 0;
        for (int i = end - 1; i >= from; i--) {
            word = word << 8 | (bytes[i] & 0xff);
        }
        return word;
    }

    private static long mixed(long state, long sum) {
        long mixed = (state ^ sum) * MIX_1;
        return (mixed ^ mixed >>> 32) * MIX_2;
    }
}
