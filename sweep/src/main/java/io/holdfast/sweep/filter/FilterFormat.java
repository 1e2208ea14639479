package io.holdfast.sweep.filter;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * A filter as bytes, little-endian.
 *
 * <pre>
 *   0  magic      "HFLF"
 *   4  u16        version of the layout of words and bits ({@link LiveFilter#VERSION})
 *   6  u16        version of the fingerprint function ({@link Fingerprint#VERSION})
 *   8  u64        seed
 *  16  u32        words a block, 4 or 8
 *  20  u32        blocks
 *  24  words      blocks * words * 8 bytes
 *   .  32 bytes   SHA-256 over everything before
 * </pre>
 *
 * Reading trusts nothing: sizes are checked against the reader's limit before anything is allocated, and the digest
 * before anything is answered.
 */
public final class FilterFormat {

    public static final int DIGEST_BYTES = 32;

    /** What the bytes have beside the words. */
    public static final int OVERHEAD_BYTES = 24 + DIGEST_BYTES;

    private static final int MAGIC = 'H' | 'F' << 8 | 'L' << 16 | 'F' << 24;
    private static final int HEADER_BYTES = 24;
    private static final int CHUNK_WORDS = 8 * 1024;

    private FilterFormat() {}

    /** Length of the whole, header and digest included. */
    public static long length(FilterGeometry geometry) {
        return HEADER_BYTES + geometry.bytes() + DIGEST_BYTES;
    }

    /** Writes the filter and answers its digest. */
    public static byte[] write(LiveFilter filter, OutputStream out) throws IOException {
        MessageDigest digest = sha256();
        ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        header.putInt(MAGIC).putShort((short) LiveFilter.VERSION).putShort((short) Fingerprint.VERSION);
        header.putLong(filter.seed());
        header.putInt(filter.geometry().words()).putInt(filter.geometry().blocks());
        digest.update(header.array());
        out.write(header.array());
        long[] words = filter.words();
        ByteBuffer chunk = ByteBuffer.allocate(CHUNK_WORDS * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (int from = LiveFilter.LEAD; from < words.length; from += CHUNK_WORDS) {
            int count = Math.min(CHUNK_WORDS, words.length - from);
            chunk.asLongBuffer().put(words, from, count);
            digest.update(chunk.array(), 0, count * Long.BYTES);
            out.write(chunk.array(), 0, count * Long.BYTES);
        }
        byte[] result = digest.digest();
        out.write(result);
        return result;
    }

    /** The digest that {@link #write} would answer. */
    public static byte[] digest(LiveFilter filter) {
        try {
            return write(filter, OutputStream.nullOutputStream());
        } catch (IOException e) {
            throw new IllegalStateException("a null stream failed", e);
        }
    }

    /** The digest in hexadecimal digits. */
    public static String digestText(LiveFilter filter) {
        return HexFormat.of().formatHex(digest(filter));
    }

    /** Reads a filter whose words take at most {@code bytesMax}; CORRUPT if it is anything but a whole, true filter. */
    public static LiveFilter read(InputStream in, long bytesMax) throws IOException {
        MessageDigest digest = sha256();
        byte[] head = in.readNBytes(HEADER_BYTES);
        if (head.length < HEADER_BYTES) {
            throw corrupt("ends within its header", null);
        }
        digest.update(head);
        ByteBuffer header = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN);
        if (header.getInt() != MAGIC) {
            throw corrupt("does not begin with HFLF", null);
        }
        int version = Short.toUnsignedInt(header.getShort());
        int function = Short.toUnsignedInt(header.getShort());
        if (version != LiveFilter.VERSION || function != Fingerprint.VERSION) {
            throw corrupt(
                    "has version " + version + " and fingerprint function " + function + "; known are "
                            + LiveFilter.VERSION + " and " + Fingerprint.VERSION,
                    null);
        }
        long seed = header.getLong();
        FilterGeometry geometry = geometry(header.getInt(), header.getInt());
        if (geometry.bytes() > bytesMax) {
            throw corrupt("says it has " + geometry.bytes() + " bytes; the limit is " + bytesMax, null);
        }
        long[] words = readWords(in, geometry.wordsTotal(), digest);
        byte[] expected = in.readNBytes(DIGEST_BYTES);
        if (!MessageDigest.isEqual(expected, digest.digest())) {
            throw corrupt("does not match its digest", null);
        }
        return LiveFilter.ofWords(geometry, seed, words);
    }

    private static FilterGeometry geometry(int words, int blocks) {
        try {
            return new FilterGeometry(words, blocks);
        } catch (HoldfastException e) {
            throw corrupt("has an impossible geometry: " + e.getMessage(), e);
        }
    }

    /** Grows with what really arrives, so that a header alone cannot make the reader allocate gigabytes. */
    private static long[] readWords(InputStream in, int total, MessageDigest digest) throws IOException {
        long[] words = new long[LiveFilter.LEAD + Math.min(total, 1 << 17)];
        byte[] chunk = new byte[CHUNK_WORDS * Long.BYTES];
        ByteBuffer view = ByteBuffer.wrap(chunk).order(ByteOrder.LITTLE_ENDIAN);
        for (int have = 0; have < total; ) {
            int count = Math.min(CHUNK_WORDS, total - have);
            if (in.readNBytes(chunk, 0, count * Long.BYTES) < count * Long.BYTES) {
                throw corrupt("ends within its words", new EOFException());
            }
            digest.update(chunk, 0, count * Long.BYTES);
            if (LiveFilter.LEAD + have + count > words.length) {
                words = Arrays.copyOf(words, (int) Math.min(LiveFilter.LEAD + total, 2L * words.length));
            }
            view.asLongBuffer().get(words, LiveFilter.LEAD + have, count);
            have += count;
        }
        return words;
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JVM has no SHA-256", e);
        }
    }

    private static HoldfastException corrupt(String what, @Nullable Exception cause) {
        return new HoldfastException(
                Category.CORRUPT,
                "the filter " + what,
                "drop it; nothing is trashed by it, the next cycle sends another",
                cause);
    }
}
