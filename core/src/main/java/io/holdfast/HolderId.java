package io.holdfast;

import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;

/**
 * Who holds: an instance (a process, by a name that people recognise) and its incarnation (one life of it). A process
 * that restarts, or whose lease lapsed, is a new incarnation, so that calls of the old one that arrive late can be told
 * from the new one's.
 *
 * @param instance a name of 1 to 64 letters, digits, dots, underscores or dashes
 * @param incarnation a number that no other life of any instance has
 */
public record HolderId(String instance, long incarnation) {

    private static final Pattern INSTANCE = Pattern.compile("[A-Za-z0-9._-]{1,64}");
    private static final SecureRandom RANDOM = new SecureRandom();

    public HolderId {
        if (!INSTANCE.matcher(instance).matches()) {
            throw HoldfastException.misuse(
                    "instance name '" + instance + "' is not 1 to 64 characters of A-Z a-z 0-9 . _ -",
                    "give the instance another name");
        }
    }

    /** A new incarnation of the named instance. */
    public static HolderId newIncarnation(String instance) {
        return new HolderId(instance, RANDOM.nextLong());
    }

    /** The next life of the same instance, with an incarnation drawn from the given source. */
    public HolderId reborn(RandomGenerator random) {
        return new HolderId(instance, random.nextLong());
    }

    /** The text form: {@code instance#0123456789abcdef}. */
    @Override
    public String toString() {
        return instance + '#' + HexFormat.of().toHexDigits(incarnation);
    }

    public static HolderId parse(String text) {
        int hash = text.lastIndexOf('#');
        if (hash < 0 || text.length() - hash != 17) {
            throw HoldfastException.misuse(
                    "'" + text + "' is not a holder",
                    "write it as instance#incarnation, the incarnation as 16 hex digits");
        }
        try {
            return new HolderId(text.substring(0, hash), HexFormat.fromHexDigitsToLong(text, hash + 1, text.length()));
        } catch (IllegalArgumentException e) {
            throw HoldfastException.misuse(
                    "'" + text + "' is not a holder",
                    "write it as instance#incarnation, the incarnation as 16 hex digits");
        }
    }
}
