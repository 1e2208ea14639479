package io.holdfast.redis.link;

import io.holdfast.Setting;
import java.time.Duration;
import java.util.regex.Pattern;

/** The settings of the way to Redis. */
public final class LinkSettings {

    public static final Setting<String> URI = Setting.text(
            "redis.uri", "redis://localhost:6379", Pattern.compile("rediss?(-cluster|-sentinel)?://.+"), "a Redis URI");

    /** How long a call waits for a connection and for its reply; each of them at most. */
    public static final Setting<Duration> TIMEOUT =
            Setting.duration("redis.timeout", Duration.ofSeconds(2), Duration.ofMillis(10), Duration.ofMinutes(5));

    public static final Setting<Duration> CONNECT_TIMEOUT = Setting.duration(
            "redis.connect-timeout", Duration.ofSeconds(2), Duration.ofMillis(10), Duration.ofMinutes(1));

    /** Connections to one server; more callers than that wait for one another. */
    public static final Setting<Integer> CONNECTIONS = Setting.integer("redis.connections", 16, 1, 1_024);

    private LinkSettings() {}
}
