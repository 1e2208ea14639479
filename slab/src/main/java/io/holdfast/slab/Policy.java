package io.holdfast.slab;

/** What a put does when a region of preset {@link Preset#SEED} is full. */
public enum Policy {
    /** The slot's own least recently used value, then larger slots upwards, then smaller ones downwards. */
    SLRU,
    /** The least recently used value of the whole region, whatever its size, until the new one fits. */
    LRU,
    /** Nothing is evicted: the put fails. */
    NONE
}
