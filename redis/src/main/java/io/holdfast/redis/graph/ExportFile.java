package io.holdfast.redis.graph;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;

/**
 * The file that export writes and import reads, version 1. Numbers are big-endian.
 *
 * <pre>
 *   magic    7 bytes   HFGRAPH
 *   version  1 byte    1
 *   root     2 bytes length, UTF-8   the root that was exported, for people
 *   values   4 bytes   how many values follow
 *   value    4 bytes   how many children
 *            4 bytes   for each: which earlier value it is, counted from 0
 *            4 bytes   how many bytes
 *            its bytes
 *   ...
 *   digest   32 bytes  SHA-256 of all that comes before
 * </pre>
 *
 * Children come before their parents, the last value is what the root named. Ids are not in the file: a graph makes its
 * own.
 */
final class ExportFile {

    private static final byte[] MAGIC = "HFGRAPH".getBytes(StandardCharsets.US_ASCII);
    private static final int VERSION = 1;
    private static final int MOST_CHILDREN = 1 << 26;

    private ExportFile() {}

    /** A value of the file; children by their place in it. */
    record Entry(int[] children, byte[] bytes) {}

    /** Writes a file. */
    static final class Writer {

        private final MessageDigest digest = sha256();
        private final OutputStream to;
        private final DataOutputStream out;

        Writer(OutputStream to, String root, int values) throws IOException {
            this.to = to;
            this.out = new DataOutputStream(new FilterOutputStream(to) {
                @Override
                public void write(int b) throws IOException {
                    digest.update((byte) b);
                    to.write(b);
                }

                @Override
                public void write(byte[] bytes, int from, int length) throws IOException {
                    digest.update(bytes, from, length);
                    to.write(bytes, from, length);
                }
            });
            out.write(MAGIC);
            out.write(VERSION);
            out.writeUTF(root);
            out.writeInt(values);
        }

        void value(int[] children, byte[] bytes) throws IOException {
            out.writeInt(children.length);
            for (int child : children) {
                out.writeInt(child);
            }
            out.writeInt(bytes.length);
            out.write(bytes);
        }

        void end() throws IOException {
            out.flush();
            to.write(digest.digest());
            to.flush();
        }
    }

    /** Reads a file; whatever is wrong with it is CORRUPT, with a line that says what. */
    static final class Reader {

        private final MessageDigest digest = sha256();
        private final InputStream from;
        private final DataInputStream in;
        private final String root;
        private final int values;
        private final long largest;
        private int read;

        Reader(InputStream from, long largest) {
            this.from = from;
            this.largest = largest;
            this.in = new DataInputStream(new FilterInputStream(from) {
                @Override
                public int read() throws IOException {
                    int b = from.read();
                    if (b >= 0) {
                        digest.update((byte) b);
                    }
                    return b;
                }

                @Override
                public int read(byte[] bytes, int at, int length) throws IOException {
                    int got = from.read(bytes, at, length);
                    if (got > 0) {
                        digest.update(bytes, at, got);
                    }
                    return got;
                }
            });
            Object[] head = reading(() -> {
                for (byte expected : MAGIC) {
                    if (in.readByte() != expected) {
                        throw corrupt("it does not begin as an export of Holdfast does");
                    }
                }
                int version = in.readUnsignedByte();
                if (version != VERSION) {
                    throw HoldfastException.misuse(
                            "the file has version " + version + " of the format, and this Holdfast reads " + VERSION,
                            "import it with the version of Holdfast that wrote it, or a newer one");
                }
                return new Object[] {in.readUTF(), in.readInt()};
            });
            this.root = (String) head[0];
            this.values = (Integer) head[1];
            if (values < 1) {
                throw corrupt("it says that it has " + values + " values");
            }
        }

        /** The root that was exported. */
        String root() {
            return root;
        }

        int values() {
            return values;
        }

        Entry next() {
            return reading(() -> {
                int count = in.readInt();
                if (count < 0 || count > MOST_CHILDREN) {
                    throw corrupt("value " + read + " says that it has " + count + " children");
                }
                List<Integer> children = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    int child = in.readInt();
                    if (child < 0 || child >= read) {
                        throw corrupt("value " + read + " names value " + child + ", which does not come before it");
                    }
                    children.add(child);
                }
                int length = in.readInt();
                if (length < 0 || length > largest) {
                    throw corrupt("value " + read + " says that it has " + length
                            + " bytes; the largest allowed here is " + largest);
                }
                byte[] bytes = in.readNBytes(length);
                if (bytes.length < length) {
                    throw new EOFException();
                }
                read++;
                return new Entry(children.stream().mapToInt(Integer::intValue).toArray(), bytes);
            });
        }

        /** After the last value: compares the digest. */
        void end() {
            byte[] computed = digest.digest();
            byte[] stored = reading(() -> from.readNBytes(computed.length));
            if (!MessageDigest.isEqual(computed, stored)) {
                throw corrupt(
                        stored.length < computed.length
                                ? "it ends in the middle"
                                : "its digest does not match its content");
            }
        }

        private interface Reading<T> {
            T now() throws IOException;
        }

        private <T> T reading(Reading<T> reading) {
            try {
                return reading.now();
            } catch (EOFException e) {
                throw corrupt("it ends in the middle");
            } catch (java.io.UTFDataFormatException e) {
                throw corrupt("the name of its root is not text");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static HoldfastException corrupt(String what) {
        return new HoldfastException(
                Category.CORRUPT, "the export file is damaged: " + what, "nothing was imported; export it again", null);
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
