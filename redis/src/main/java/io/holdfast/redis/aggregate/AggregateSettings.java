package io.holdfast.redis.aggregate;

import io.holdfast.Setting;
import io.holdfast.redis.hold.HoldSet;
import java.time.Duration;
import java.util.List;

/** The settings of aggregates. */
public final class AggregateSettings {

    /** An epoch ends when no instance has added to it for so long. */
    public static final Setting<Duration> SOFT_WINDOW = Setting.duration(
            "aggregates.soft-window", Duration.ofMinutes(15), Duration.ofMillis(10), Duration.ofDays(30));

    /** An epoch ends so long after it was begun, whoever still adds. */
    public static final Setting<Duration> HARD_WINDOW = Setting.duration(
            "aggregates.hard-window", Duration.ofMinutes(30), Duration.ofMillis(10), Duration.ofDays(365));

    /** How long an update may wait in this instance before it is published. */
    public static final Setting<Duration> PUBLISH_INTERVAL = Setting.duration(
            "aggregates.publish-interval", Duration.ofSeconds(1), Duration.ofMillis(1), Duration.ofMinutes(5));

    /** How many keys this instance keeps at hand; those used least are published and left. */
    public static final Setting<Integer> TABLE = Setting.integer("aggregates.table", 10_000, 1, 10_000_000);

    /** How many updates may wait in this instance to be durable. */
    public static final Setting<Integer> PENDING = Setting.integer("aggregates.pending", 500_000, 1, 100_000_000);

    /** How long an add waits for room before it fails with RETRY. */
    public static final Setting<Duration> ADD_WAIT =
            Setting.duration("aggregates.add-wait", Duration.ofSeconds(5), Duration.ZERO, Duration.ofMinutes(10));

    /** How long the holds of an instance outlive its last sign of life. */
    public static final Setting<Duration> LEASE =
            Setting.duration("aggregates.lease", Duration.ofSeconds(15), Duration.ofMillis(300), Duration.ofHours(1));

    /** Over how many slots the aggregates of a set are spread, for the life of the set. */
    public static final Setting<Integer> SHARDS = Setting.integer("aggregates.shards", 8, 1, HoldSet.SHARDS_MAX);

    /** How long a claim runs unless renewed: after a crash in the middle of a flush, another instance waits so long. */
    public static final Setting<Duration> CLAIM =
            Setting.duration("aggregates.claim", Duration.ofSeconds(30), Duration.ofMillis(300), Duration.ofHours(1));

    /** How long a flush may take at most; then its claims are no longer renewed. */
    public static final Setting<Duration> FLUSH_LIMIT = Setting.duration(
            "aggregates.flush-limit", Duration.ofMinutes(5), Duration.ofMillis(300), Duration.ofDays(1));

    /** After so many attempts that failed, an epoch becomes a dead letter. */
    public static final Setting<Integer> ATTEMPTS = Setting.integer("aggregates.attempts", 5, 1, 99);

    /** The pause after the first attempt that failed; it doubles with each further one. */
    public static final Setting<Duration> RETRY_PAUSE = Setting.duration(
            "aggregates.retry-pause", Duration.ofSeconds(1), Duration.ofMillis(1), Duration.ofMinutes(5));

    /** How many batches go to the sink at the same time from this instance. */
    public static final Setting<Integer> FLUSHERS = Setting.integer("aggregates.flushers", 2, 1, 256);

    /** The most bytes that one instance's part of one epoch takes. */
    public static final Setting<Long> PART_LIMIT = Setting.bytes("aggregates.part-limit", 64 << 10, 16, 16 << 20);

    /** The most bytes of parts that wait in Redis, open and ended, of the whole set. */
    public static final Setting<Long> WAITING_LIMIT =
            Setting.bytes("aggregates.waiting-limit", 256L << 20, 1 << 10, 1L << 40);

    /** How long after it counted an update is recognised when it is delivered again. */
    public static final Setting<Duration> REDELIVERY_WINDOW = Setting.duration(
            "aggregates.redelivery-window", Duration.ofHours(1), Duration.ofSeconds(1), Duration.ofDays(30));

    public static final List<Setting<?>> ALL = List.of(
            SOFT_WINDOW,
            HARD_WINDOW,
            PUBLISH_INTERVAL,
            TABLE,
            PENDING,
            ADD_WAIT,
            LEASE,
            SHARDS,
            CLAIM,
            FLUSH_LIMIT,
            ATTEMPTS,
            RETRY_PAUSE,
            FLUSHERS,
            PART_LIMIT,
            WAITING_LIMIT,
            REDELIVERY_WINDOW);

    private AggregateSettings() {}
}
