package io.holdfast.redis.hold;

/**
 * A thing as the store saw it when this instance acquired or touched it.
 *
 * @param epoch which life of the thing this is
 * @param opened whether this very call began that life
 * @param unfinished how many earlier lives are still being closed
 * @param holders how many leases hold it, dead ones that were not met yet included
 */
public record Held(String id, long epoch, boolean opened, int unfinished, int holders) {

    /** Reads {@code EPOCH(16) UNFINISHED(1) ,LEASE,LEASE…}. */
    static Held parse(String id, String record, String before) {
        String epoch = record.substring(0, 16);
        int holders = (int) record.chars().skip(17).filter(c -> c == ',').count();
        boolean opened = !before.isEmpty() && epoch.compareTo(before) > 0;
        return new Held(id, Long.parseLong(epoch), opened, record.charAt(16) - '0', holders);
    }
}
