package io.holdfast.sweep.transfer;

import io.holdfast.HoldfastException;

/**
 * A worker's answer to frames.
 *
 * @param acknowledged every frame up to this one was applied
 * @param missingFrom the first of a range of frames that is wanted again; 0 if none is
 */
public record FrameReply(long acknowledged, long missingFrom, long missingTo) {

    public FrameReply {
        boolean none = missingFrom == 0 && missingTo == 0;
        if (acknowledged < 0 || (!none && (missingFrom <= acknowledged || missingTo < missingFrom))) {
            throw HoldfastException.misuse(
                    "a reply that acknowledges " + acknowledged + " and misses " + missingFrom + " to " + missingTo,
                    "ask only for what is not acknowledged");
        }
    }

    public static FrameReply acknowledge(long upTo) {
        return new FrameReply(upTo, 0, 0);
    }

    public boolean misses() {
        return missingFrom != 0;
    }
}
