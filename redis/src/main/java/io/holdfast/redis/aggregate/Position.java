package io.holdfast.redis.aggregate;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HoldfastException;
import java.util.regex.Pattern;

/**
 * Where an update comes from, so that one that is delivered again counts once.
 *
 * <p>An ordered source ({@link #at}) is one whose positions only grow: a partition of a log. It costs one number per key and
 * source, and {@link Aggregates#durable} tells up to where everything is safe. An unordered source ({@link #id}) names each
 * update: a queue, or a stream that several consumers share. It costs an entry per update for the redelivery window.
 */
public sealed interface Position {

    String source();

    /** A position of an ordered source. No other source of the set has its name. */
    static Position at(String source, long position) {
        return new Ordered(source, position);
    }

    /** The offset of a message in a partition of a topic. Partitions of two topics are two sources. */
    static Position at(String topic, int partition, long offset) {
        return new Ordered(source(topic, partition), offset);
    }

    /** The source that a partition of a topic is: {@code TOPIC/PARTITION}. */
    static String source(String topic, int partition) {
        return topic + "/" + partition;
    }

    /** The name of an update in an unordered source; no other update for the same key has it. */
    static Position id(String source, String id) {
        return new Unordered(source, id);
    }

    record Ordered(String source, long position) implements Position {

        /** What a script can compare exactly. */
        static final long LAST = 1L << 52;

        public Ordered {
            check(source);
            if (position < 0 || position > LAST) {
                throw HoldfastException.misuse(
                        "position " + position + " of source '" + source + "'", "give a position of 0 to " + LAST);
            }
        }
    }

    record Unordered(String source, String id) implements Position {
        public Unordered {
            check(source);
            if (id.isEmpty() || id.getBytes(UTF_8).length > 512) {
                throw HoldfastException.misuse(
                        "an id of " + id.length() + " characters in source '" + source + "'",
                        "give an id of 1 to 512 bytes");
            }
        }
    }

    /** The names that a source may have. */
    Pattern SOURCE = Pattern.compile("[A-Za-z0-9._:/-]{1,128}");

    private static void check(String source) {
        if (!SOURCE.matcher(source).matches()) {
            throw HoldfastException.misuse(
                    "the source '" + source + "' is not 1 to 128 characters of A-Z a-z 0-9 . _ : / -",
                    "name the source with these characters");
        }
    }
}
