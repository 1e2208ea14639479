package io.holdfast.redis.aggregate;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.util.Arrays;

/**
 * Numbers and bytes as they are stored. Every value has one of four forms, so that a reader can pass over what it does not
 * know:
 *
 * <pre>
 *   0 NUMBER   7 bits a byte, lowest first, the high bit says that more follow; signed numbers zigzag
 *   1 LONG     8 bytes, highest first
 *   2 BYTES    a NUMBER (unsigned) and so many bytes
 *   3 INT      4 bytes, highest first
 * </pre>
 */
final class Wire {

    static final int NUMBER = 0;
    static final int LONG = 1;
    static final int BYTES = 2;
    static final int INT = 3;

    private Wire() {}

    static HoldfastException corrupt(String what) {
        return new HoldfastException(Category.CORRUPT, what);
    }

    static final class Writer {
        private byte[] bytes = new byte[64];
        private int size;

        private void room(int more) {
            if (size + more > bytes.length) {
                bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, size + more));
            }
        }

        void one(int value) {
            room(1);
            bytes[size++] = (byte) value;
        }

        void unsigned(long value) {
            room(10);
            long left = value;
            while ((left & ~0x7FL) != 0) {
                bytes[size++] = (byte) (left | 0x80);
                left >>>= 7;
            }
            bytes[size++] = (byte) left;
        }

        void signed(long value) {
            unsigned((value << 1) ^ (value >> 63));
        }

        void big(long value, int width) {
            room(width);
            for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) {
                bytes[size++] = (byte) (value >>> shift);
            }
        }

        void raw(byte[] value) {
            room(value.length);
            System.arraycopy(value, 0, bytes, size, value.length);
            size += value.length;
        }

        void bytes(byte[] value) {
            unsigned(value.length);
            raw(value);
        }

        byte[] done() {
            return Arrays.copyOf(bytes, size);
        }
    }

    static final class Reader {
        private final byte[] bytes;
        private final int end;
        private int at;

        Reader(byte[] bytes) {
            this(bytes, 0, bytes.length);
        }

        private Reader(byte[] bytes, int from, int end) {
            this.bytes = bytes;
            this.at = from;
            this.end = end;
        }

        boolean hasMore() {
            return at < end;
        }

        private void need(long count) {
            if (count < 0 || count > end - at) {
                throw corrupt("the bytes end too early: " + count + " are wanted and " + (end - at) + " are left");
            }
        }

        int one() {
            need(1);
            return bytes[at++] & 0xFF;
        }

        long unsigned() {
            long value = 0;
            for (int shift = 0; shift < 64; shift += 7) {
                int next = one();
                value |= (long) (next & 0x7F) << shift;
                if (next < 0x80) {
                    return value;
                }
            }
            throw corrupt("a number of more than 64 bits");
        }

        long signed() {
            long value = unsigned();
            return (value >>> 1) ^ -(value & 1);
        }

        long big(int width) {
            need(width);
            long value = 0;
            for (int i = 0; i < width; i++) {
                value = value << 8 | (bytes[at++] & 0xFF);
            }
            return value;
        }

        /** A reader of the bytes that follow with their length, which this one passes over. */
        Reader part() {
            long length = unsigned();
            need(length);
            Reader part = new Reader(bytes, at, at + (int) length);
            at += (int) length;
            return part;
        }

        /** How many values follow, each of them at least one byte. */
        int count() {
            long count = unsigned();
            need(count);
            return (int) count;
        }

        byte[] rest() {
            byte[] rest = Arrays.copyOfRange(bytes, at, end);
            at = end;
            return rest;
        }

        String text() {
            String text = new String(bytes, at, end - at, UTF_8);
            at = end;
            return text;
        }

        void pass(int form) {
            switch (form) {
                case NUMBER -> unsigned();
                case LONG -> big(8);
                case INT -> big(4);
                case BYTES -> part();
                default -> throw corrupt("a value of the unknown form " + form);
            }
        }
    }
}
