package io.holdfast.sweep.piece;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The letters of piece names: RFC 4648 in lower case, without padding. One id has exactly one name: other letters, upper
 * case, other lengths and stray bits at the end are not names, so that nothing can be there under an alias.
 */
public final class Base32 {

    private static final String LETTERS = "abcdefghijklmnopqrstuvwxyz234567";
    private static final byte[] VALUES = new byte[128];

    static {
        Arrays.fill(VALUES, (byte) -1);
        for (int i = 0; i < 32; i++) {
            VALUES[LETTERS.charAt(i)] = (byte) i;
        }
    }

    private Base32() {}

    /** How many letters so many bytes take. */
    public static int length(int bytes) {
        return (bytes * 8 + 4) / 5;
    }

    /** The two letters of folder {@code index}, 0 to 1023. */
    public static String pair(int index) {
        return "" + LETTERS.charAt(index >>> 5) + LETTERS.charAt(index & 31);
    }

    public static String encode(byte[] bytes) {
        char[] letters = new char[length(bytes.length)];
        long bits = 0;
        int have = 0;
        int at = 0;
        for (byte b : bytes) {
            bits = bits << 8 | (b & 0xff);
            have += 8;
            while (have >= 5) {
                have -= 5;
                letters[at++] = LETTERS.charAt((int) (bits >>> have) & 31);
            }
        }
        if (have > 0) {
            letters[at] = LETTERS.charAt((int) (bits << (5 - have)) & 31);
        }
        return new String(letters);
    }

    /** The bytes that {@link #encode} makes exactly this name of, or null. */
    public static byte @Nullable [] decode(String name) {
        return decode("", name, name.length() * 5 / 8);
    }

    /** The {@code length} bytes whose name is {@code head + tail}, or null if it is not the name of so many bytes. */
    public static byte @Nullable [] decode(String head, String tail, int length) {
        int letters = head.length() + tail.length();
        if (length < 1 || letters != length(length)) {
            return null;
        }
        byte[] bytes = new byte[length];
        int bits = 0;
        int have = 0;
        int at = 0;
        for (int i = 0; i < letters; i++) {
            char letter = i < head.length() ? head.charAt(i) : tail.charAt(i - head.length());
            int value = letter < 128 ? VALUES[letter] : -1;
            if (value < 0) {
                return null;
            }
            bits = (bits << 5 | value) & 0xfff;
            have += 5;
            if (have >= 8) {
                have -= 8;
                bytes[at++] = (byte) (bits >>> have);
            }
        }
        return (bits & ((1 << have) - 1)) == 0 && at == length ? bytes : null;
    }
}
