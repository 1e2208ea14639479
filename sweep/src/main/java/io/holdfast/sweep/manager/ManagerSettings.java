package io.holdfast.sweep.manager;

import io.holdfast.Setting;
import java.time.Duration;
import java.util.List;

/** What can be set on a manager, beside the settings of every cycle. */
public final class ManagerSettings {

    /** How often a manager that stays runs a cycle. */
    public static final Setting<Duration> INTERVAL =
            Setting.duration("sweep.manager.interval", Duration.ofDays(5), Duration.ofSeconds(1), Duration.ofDays(365));

    /** How many workers build each filter; with two, only a digest that both report is signed. */
    public static final Setting<Integer> BUILDERS = Setting.integer("sweep.manager.builders", 1, 1, 2);

    /** Whether one worker alone may confirm what it has trashed itself: what a stolen one does is then not undone. */
    public static final Setting<Boolean> BELIEVE_ONE_WORKER = Setting.flag("sweep.manager.believe-one-worker", false);

    /** How many nodes a cycle takes, those first that have waited longest; 0 is all. */
    public static final Setting<Integer> NODES_PER_CYCLE =
            Setting.integer("sweep.manager.nodes-per-cycle", 0, 0, 1_000_000);

    /** How often the nodes of workers that died are given to others within a cycle. */
    public static final Setting<Integer> ATTEMPTS = Setting.integer("sweep.manager.attempts", 3, 1, 20);

    /** How long the right to run a cycle lasts without being renewed. */
    public static final Setting<Duration> LEASE =
            Setting.duration("sweep.manager.lease", Duration.ofMinutes(1), Duration.ofSeconds(5), Duration.ofHours(1));

    /** How long a worker may be silent before its nodes are given to others. */
    public static final Setting<Duration> WORKER_PATIENCE = Setting.duration(
            "sweep.manager.worker-patience", Duration.ofSeconds(30), Duration.ofSeconds(1), Duration.ofHours(1));

    /** How long a node may be unreachable, or walk without getting on, before the cycle goes on without it. */
    public static final Setting<Duration> NODE_PATIENCE = Setting.duration(
            "sweep.manager.node-patience", Duration.ofMinutes(10), Duration.ofSeconds(1), Duration.ofDays(7));

    /** How long a node may take in all to examine its pieces, and again to trash them. */
    public static final Setting<Duration> NODE_DEADLINE = Setting.duration(
            "sweep.manager.node-deadline", Duration.ofHours(2), Duration.ofSeconds(1), Duration.ofDays(7));

    public static final List<Setting<?>> ALL = List.of(
            INTERVAL,
            BUILDERS,
            BELIEVE_ONE_WORKER,
            NODES_PER_CYCLE,
            ATTEMPTS,
            LEASE,
            WORKER_PATIENCE,
            NODE_PATIENCE,
            NODE_DEADLINE);

    private ManagerSettings() {}
}
