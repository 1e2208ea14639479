package io.holdfast.redis.hold;

import java.time.Instant;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Why a thing is due, as its record says it: {@code MILLIS TEXT}, or only a text.
 *
 * @param since when its last holder went, by the server's clock; null if that is not known
 */
record Evidence(@Nullable Instant since, String text) {

    private static final Pattern TIMED = Pattern.compile("(\\d{13}) (.*)", Pattern.DOTALL);

    static Evidence of(String stored) {
        Matcher timed = TIMED.matcher(stored);
        return timed.matches()
                ? new Evidence(Instant.ofEpochMilli(Long.parseLong(timed.group(1))), timed.group(2))
                : new Evidence(null, stored);
    }
}
