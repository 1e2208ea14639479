package io.holdfast.slab;

import io.holdfast.Setting;
import java.time.Duration;
import java.util.List;

/** What can be configured about a slab cache. */
public final class SlabSettings {

    /** Length of the whole file. */
    public static final Setting<Long> SIZE = Setting.bytes("slab.size", 64L << 20, 4L << 10, SlabLayout.SIZE_MOST);

    public static final Setting<Preset> PRESET = Setting.choice("slab.preset", Preset.ADAPTIVE);

    /** Only with preset seed. */
    public static final Setting<Policy> POLICY = Setting.choice("slab.policy", Policy.SLRU);

    /** 0: 4 KiB for seed; for adaptive 16 to 64 KiB so that there are 256, and 256 KiB from 4 GiB on. Otherwise a power of two. */
    public static final Setting<Long> PAGE_SIZE = Setting.bytes("slab.page-size", 0, 0, 2L << 20);

    /** What a value takes on average: how large the index is made. Smaller values make longer chains. */
    public static final Setting<Long> AVERAGE_ITEM = Setting.bytes("slab.average-item", 384, 32, 1 << 20);

    /** How many parts with a lock of their own a new file has: a power of two; 0: one for each 64 MiB, at most 8. */
    public static final Setting<Integer> SHARDS = Setting.integer("slab.shards", 0, 0, SlabLayout.SHARDS_MOST);

    /** How long put and remove wait for another process before they answer BUSY. */
    public static final Setting<Duration> BUSY_AFTER =
            Setting.duration("slab.busy-after", Duration.ofMillis(500), Duration.ofMillis(1), Duration.ofMinutes(1));

    private SlabSettings() {}

    public static List<Setting<?>> all() {
        return List.of(SIZE, PRESET, POLICY, PAGE_SIZE, AVERAGE_ITEM, SHARDS, BUSY_AFTER);
    }
}
