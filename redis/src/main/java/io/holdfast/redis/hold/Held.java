package io.holdfast.redis.hold;

/**
 * A thing as the store saw it when this instance acquired or touched it.
 *
 * @param epoch which life of the thing this is; 0: it was closed meanwhile, -1: it is not open, and the server has no memory
 *     to open it
 * @param opened whether this very call began that life
 * @param unfinished how many earlier lives are still being closed
 * @param holders how many leases hold it, dead ones that were not met yet included
 */
public record Held(String id, long epoch, boolean opened, int unfinished, int holders) {

    private static final long CLOSED = 0;
    private static final long NO_MEMORY = -1;

    public boolean isOpen() {
        return epoch > 0;
    }

    boolean isClosed() {
        return epoch == CLOSED;
    }

    /** Reads {@code EPOCH(16) UNFINISHED(1) ,LEASE,LEASE…}, or {@code GONE}, or {@code FULL}. */
    static Held parse(String id, String record, String before) {
        if (record.equals("GONE") || record.equals("FULL")) {
            return new Held(id, record.equals("GONE") ? CLOSED : NO_MEMORY, false, 0, 0);
        }
        String epoch = record.substring(0, 16);
        int holders = (int) record.chars().skip(17).filter(c -> c == ',').count();
        boolean opened = !before.isEmpty() && epoch.compareTo(before) > 0;
        return new Held(id, Long.parseLong(epoch), opened, record.charAt(16) - '0', holders);
    }
}
