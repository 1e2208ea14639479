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

    /**
     * How many replicas must have a change before a call that made it returns; 0: none. A fail-over to one of them then
     * forgets nothing that was answered. If fewer answer within half the time-out, the call fails with RETRY: it is done,
     * but a fail-over may forget it.
     */
    public static final Setting<Integer> WAIT_REPLICAS = Setting.integer("redis.wait-replicas", 0, 0, 16);

    private LinkSettings() {}
}
