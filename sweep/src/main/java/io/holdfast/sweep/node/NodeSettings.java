package io.holdfast.sweep.node;

import io.holdfast.Setting;
import java.time.Duration;
import java.util.List;

/** What can be set on a storage node. None of them can be set to delete at once. */
public final class NodeSettings {

    /** Spares what is younger: longest time from upload to commit, and the difference of clocks. */
    public static final Setting<Duration> SPARE_WINDOW = Setting.duration(
            "sweep.node.spare-window", Duration.ofHours(72), Duration.ofHours(1), Duration.ofDays(365));

    /** How long the trash is kept. */
    public static final Setting<Duration> TRASH_KEEP =
            Setting.duration("sweep.node.trash-keep", Duration.ofDays(7), Duration.ofDays(1), Duration.ofDays(3650));

    /** How much of the most pieces held may be trashed in 30 days without an operator, in per cent. */
    public static final Setting<Integer> BRAKE = Setting.integer("sweep.node.brake", 10, 1, 100);

    /** How far the clock of who issues a cycle may be off the node's. */
    public static final Setting<Duration> CLOCK_SKEW = Setting.duration(
            "sweep.node.clock-skew", Duration.ofMinutes(10), Duration.ofSeconds(1), Duration.ofDays(1));

    /** How many pieces a second a walk looks at; 0 is no limit. */
    public static final Setting<Integer> WALK_LIMIT = Setting.integer("sweep.node.walk-limit", 0, 0, 100_000_000);

    /** How many bytes an id has; fixed when a node is made. */
    public static final Setting<Integer> ID_BYTES = Setting.integer("sweep.node.id-bytes", 32, 8, 64);

    /** The largest filter that a node takes. */
    public static final Setting<Long> FILTER_MAX =
            Setting.bytes("sweep.node.filter-max", 2L << 30, 1L << 20, 15L << 30);

    /** The largest piece that a put may bring. */
    public static final Setting<Long> PIECE_MAX = Setting.bytes("sweep.node.piece-max", 4L << 30, 1L << 10, 1L << 40);

    /** How many reclaim records a node keeps. */
    public static final Setting<Integer> LEDGER_RECORDS =
            Setting.integer("sweep.node.ledger-records", 1_000_000, 1_000, 100_000_000);

    public static final List<Setting<?>> ALL = List.of(
            SPARE_WINDOW, TRASH_KEEP, BRAKE, CLOCK_SKEW, WALK_LIMIT, ID_BYTES, FILTER_MAX, PIECE_MAX, LEDGER_RECORDS);

    private NodeSettings() {}
}
