package io.holdfast.redis.graph;

import io.holdfast.Setting;
import java.time.Duration;
import java.util.List;

/** The settings of value graphs. */
public final class GraphSettings {

    /** How ids are made; fixed when the graph is made. */
    public static final Setting<Addressing> ADDRESSING = Setting.choice("graph.addressing", Addressing.TIME);

    /** How long what a writer put outlives a writer that died. */
    public static final Setting<Duration> WRITER_LEASE =
            Setting.duration("graph.writer-lease", Duration.ofSeconds(15), Duration.ofMillis(100), Duration.ofDays(1));

    /** How long a snapshot outlives a reader that died. */
    public static final Setting<Duration> SNAPSHOT_LEASE =
            Setting.duration("graph.snapshot-lease", Duration.ofSeconds(5), Duration.ofMillis(100), Duration.ofDays(1));

    /** The edges that one step of reclaiming cuts at most, about: the bound on how long it keeps the server. */
    public static final Setting<Integer> STEP_EDGES = Setting.integer("graph.step-edges", 1_024, 16, 2_048);

    /** How long a mark pauses freeing after whoever scans under it has died. */
    public static final Setting<Duration> MARK_LEASE = Setting.duration(
            "graph.mark-lease", Duration.ofSeconds(30), Duration.ofMillis(100), Duration.ofMinutes(10));

    public static final Setting<Long> LARGEST_VALUE =
            Setting.bytes("graph.largest-value", 64L << 20, 1 << 10, 512L << 20);

    /** How many records the ledger of a graph keeps, about; a record can name several hundred values. */
    public static final Setting<Integer> LEDGER_RECORDS = Setting.integer("graph.ledger-records", 2_000, 16, 1_000_000);

    public static final List<Setting<?>> ALL =
            List.of(ADDRESSING, WRITER_LEASE, SNAPSHOT_LEASE, STEP_EDGES, MARK_LEASE, LARGEST_VALUE, LEDGER_RECORDS);

    private GraphSettings() {}
}
