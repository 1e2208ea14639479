package io.holdfast.redis.link;

import io.holdfast.HoldfastException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The keys of one shard: {@code hf:{kind:name:shard}:part}. The braces make all of them one slot of a cluster, so that
 * one script may touch them together; the parts are few and fixed, and what users name is checked here, so that it can
 * never collide with bookkeeping.
 */
public record Keyspace(String kind, String name, int shard) {

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,64}");

    public Keyspace {
        if (!NAME.matcher(name).matches()) {
            throw HoldfastException.misuse(
                    "the " + kind + " name '" + name + "' is not 1 to 64 characters of A-Z a-z 0-9 . _ -",
                    "choose a name of these characters");
        }
    }

    private static final Pattern KEY = Pattern.compile("hf:\\{([a-z]+):([A-Za-z0-9._-]{1,64}):(\\d{1,6})}:.*");

    /** The shard that a key belongs to; empty if it is not a key of Holdfast. */
    public static Optional<Keyspace> of(String key) {
        Matcher parts = KEY.matcher(key);
        return parts.matches()
                ? Optional.of(new Keyspace(parts.group(1), parts.group(2), Integer.parseInt(parts.group(3))))
                : Optional.empty();
    }

    public byte[] key(String part) {
        return ("hf:{" + kind + ':' + name + ':' + shard + "}:" + part).getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public String toString() {
        return kind + ' ' + name;
    }
}
