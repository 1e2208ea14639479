package io.holdfast.redis.session;

import io.holdfast.Setting;
import io.holdfast.redis.hold.HoldSet;
import java.time.Duration;
import java.util.List;

/** The settings of sessions. */
public final class SessionSettings {

    /** From the last release to the close. */
    public static final Setting<Duration> GRACE =
            Setting.duration("sessions.grace", Duration.ofSeconds(30), Duration.ZERO, Duration.ofDays(30));

    /** How long the holds of an instance outlive its last sign of life. */
    public static final Setting<Duration> LEASE =
            Setting.duration("sessions.lease", Duration.ofSeconds(15), Duration.ofMillis(300), Duration.ofHours(1));

    /** How often an instance gives a sign of life; zero: three times in a lease. */
    public static final Setting<Duration> HEARTBEAT =
            Setting.duration("sessions.heartbeat", Duration.ZERO, Duration.ZERO, Duration.ofMinutes(20));

    /** Over how many slots the sessions of a set are spread, for the life of the set. */
    public static final Setting<Integer> SHARDS = Setting.integer("sessions.shards", 8, 1, HoldSet.SHARDS_MAX);

    /** How long a claim runs unless renewed: after a crash in the middle of a close, another instance waits so long. */
    public static final Setting<Duration> CLAIM =
            Setting.duration("sessions.claim", Duration.ofSeconds(30), Duration.ofMillis(300), Duration.ofHours(1));

    /** How long a handler may run at most; then its claim is no longer renewed. */
    public static final Setting<Duration> HANDLER_LIMIT = Setting.duration(
            "sessions.handler-limit", Duration.ofMinutes(5), Duration.ofMillis(300), Duration.ofDays(1));

    /** After so many attempts that failed, a close becomes a dead letter. */
    public static final Setting<Integer> ATTEMPTS = Setting.integer("sessions.attempts", 5, 1, 99);

    /** The pause after the first attempt that failed; it doubles with each further one, up to 5 minutes. */
    public static final Setting<Duration> RETRY_PAUSE = Setting.duration(
            "sessions.retry-pause", Duration.ofSeconds(1), Duration.ofMillis(1), Duration.ofMinutes(5));

    /** How many handlers run at the same time in this instance. */
    public static final Setting<Integer> CLOSERS = Setting.integer("sessions.closers", 256, 1, 100_000);

    /** How long an acquire waits for an earlier life of the session to be closed. */
    public static final Setting<Duration> CLOSING_WAIT =
            Setting.duration("sessions.closing-wait", Duration.ofSeconds(10), Duration.ZERO, Duration.ofMinutes(10));

    /** The most bytes that the data fields of a session take. */
    public static final Setting<Long> DATA_LIMIT = Setting.bytes("sessions.data-limit", 64 << 10, 1, 1 << 20);

    public static final List<Setting<?>> ALL = List.of(
            GRACE,
            LEASE,
            HEARTBEAT,
            SHARDS,
            CLAIM,
            HANDLER_LIMIT,
            ATTEMPTS,
            RETRY_PAUSE,
            CLOSERS,
            CLOSING_WAIT,
            DATA_LIMIT);

    private SessionSettings() {}
}
