package io.holdfast.slab;

/**
 * What became of a put.
 *
 * @param outcome whether the value was stored, and if not, why
 * @param version of the value that is now under the key; 0 if there is none or it is not known
 * @param evicted how many other values made room
 */
public record PutResult(Outcome outcome, long version, int evicted) {

    /** How a put ended. */
    public enum Outcome {
        STORED,
        /** The version under the key is another than expected; {@link PutResult#version} tells which. */
        CONFLICT,
        /** A put that must not evict found no room. */
        NO_ROOM,
        /** A process that lives held the region's lock until the deadline; nothing was changed. */
        BUSY
    }

    public boolean stored() {
        return outcome == Outcome.STORED;
    }
}
