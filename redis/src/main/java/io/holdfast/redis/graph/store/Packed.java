package io.holdfast.redis.graph.store;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * A segment in one string, as {@code segment.lua} reads it: MessagePack of a flat list, the holds from outside and then
 * five fields of each value.
 */
record Packed(int outside, List<Entry> entries) {

    private static final int FIELDS = 5;

    /** @param content its content id; empty without content addressing */
    record Entry(int value, int holds, String children, byte[] bytes, byte[] content) {}

    byte[] encode() {
        ByteArrayOutputStream out = new ByteArrayOutputStream(64 + 64 * entries.size());
        int length = 1 + FIELDS * entries.size();
        if (length < 16) {
            out.write(0x90 | length);
        } else {
            out.write(0xdc);
            out.write(length >>> 8);
            out.write(length);
        }
        number(out, outside);
        for (Entry entry : entries) {
            number(out, entry.value());
            number(out, entry.holds());
            string(out, entry.children().getBytes(US_ASCII));
            string(out, entry.bytes());
            string(out, entry.content());
        }
        return out.toByteArray();
    }

    static Packed decode(byte[] packed) {
        ByteBuffer in = ByteBuffer.wrap(packed);
        int first = in.get() & 0xff;
        int length = first < 0xa0 ? first & 0xf : first == 0xdc ? in.getShort() & 0xffff : in.getInt();
        int outside = number(in);
        List<Entry> entries = new ArrayList<>();
        for (int at = 1; at + FIELDS <= length; at += FIELDS) {
            entries.add(new Entry(number(in), number(in), new String(string(in), US_ASCII), string(in), string(in)));
        }
        return new Packed(outside, entries);
    }

    private static void number(ByteArrayOutputStream out, int number) {
        if (number < 128) {
            out.write(number);
        } else {
            out.write(0xce);
            out.writeBytes(ByteBuffer.allocate(4).putInt(number).array());
        }
    }

    private static void string(ByteArrayOutputStream out, byte[] bytes) {
        if (bytes.length < 32) {
            out.write(0xa0 | bytes.length);
        } else {
            out.write(0xdb);
            out.writeBytes(ByteBuffer.allocate(4).putInt(bytes.length).array());
        }
        out.writeBytes(bytes);
    }

    private static int number(ByteBuffer in) {
        int first = in.get() & 0xff;
        return switch (first) {
            case 0xcc -> in.get() & 0xff;
            case 0xcd -> in.getShort() & 0xffff;
            case 0xce -> in.getInt();
            default -> {
                if (first < 128) {
                    yield first;
                }
                throw unreadable(first);
            }
        };
    }

    private static byte[] string(ByteBuffer in) {
        int first = in.get() & 0xff;
        int length = switch (first) {
            case 0xd9, 0xc4 -> in.get() & 0xff;
            case 0xda, 0xc5 -> in.getShort() & 0xffff;
            case 0xdb, 0xc6 -> in.getInt();
            default -> {
                if ((first & 0xe0) == 0xa0) {
                    yield first & 0x1f;
                }
                throw unreadable(first);
            }
        };
        byte[] bytes = new byte[length];
        in.get(bytes);
        return bytes;
    }

    private static HoldfastException unreadable(int first) {
        return new HoldfastException(
                Category.CORRUPT, "a packed segment has a field of type " + first + ", which Holdfast does not write");
    }
}
