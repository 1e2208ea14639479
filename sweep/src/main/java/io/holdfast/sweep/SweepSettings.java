package io.holdfast.sweep;

import io.holdfast.Setting;
import java.util.List;
import java.util.regex.Pattern;

/** What can be set on a cycle. */
public final class SweepSettings {

    /** Which part of the garbage may survive a cycle by chance. */
    public static final Setting<String> FALSE_POSITIVES =
            Setting.text("sweep.false-positives", "0.1", Pattern.compile("0\\.(5|[0-4][0-9]{0,3})"), "0.0001 to 0.5");

    /** The most memory for filters; a cycle that needs more is refused before it begins. */
    public static final Setting<Long> FILTER_MEMORY =
            Setting.bytes("sweep.filter-memory", 1L << 30, 1L << 20, 1L << 40);

    /** Memory for the batches between scanners and filters, whatever the number of nodes. */
    public static final Setting<Long> BUFFER_MEMORY =
            Setting.bytes("sweep.buffer-memory", 64L << 20, 1L << 20, 16L << 30);

    /** How many threads read the catalogue and walk nodes; 0 is one a processor. */
    public static final Setting<Integer> SCANNERS = Setting.integer("sweep.scanners", 0, 0, 256);

    /** How much of all pieces a cycle may trash without approvals, in per cent. */
    public static final Setting<Integer> FLEET_LIMIT = Setting.integer("sweep.fleet-limit", 10, 1, 100);

    public static final List<Setting<?>> ALL =
            List.of(FALSE_POSITIVES, FILTER_MEMORY, BUFFER_MEMORY, SCANNERS, FLEET_LIMIT);

    private SweepSettings() {}
}
